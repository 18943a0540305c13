//! Where in the list of what is due each of several schedulers begins, so that they seldom plan the same job at the same time.
//! Nothing depends on it but time: whoever comes second finds the job planned.

use super::ReplicaId;
use super::zone_version::Planner;

/// Most jobs of one transaction.
const TOGETHER_MAX: usize = 100;

/// A scheduler's way through a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// It begins here, and goes round.
    pub first: usize,
    /// So many jobs are planned and opened at a time; never zero.
    pub at_once: usize,
}

impl Turn {
    /// Of the replica `own` among the live ones that plan, in whatever order they are given. One that is not among them begins
    /// at the front.
    pub fn of(own: Option<&ReplicaId>, planners: &[Planner], due: usize) -> Self {
        let before = |own: &ReplicaId| planners.iter().filter(|planner| planner.replica < *own).count();
        let is_one = |own: &&ReplicaId| planners.iter().any(|planner| planner.replica == **own);
        let rank = own.filter(is_one).map_or(0, before);
        let part = due.div_ceil(planners.len().max(1));
        Self { first: (rank * part).min(due), at_once: part.clamp(1, TOGETHER_MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planners(names: &[&str]) -> Vec<Planner> {
        let planner = |name: &&str| Planner { replica: ReplicaId::from_text(*name), tzdata: "2026f".to_owned() };
        names.iter().map(planner).collect()
    }

    fn turn(own: &str, names: &[&str], due: usize) -> (usize, usize) {
        let turn = Turn::of(Some(&ReplicaId::from_text(own)), &planners(names), due);
        (turn.first, turn.at_once)
    }

    #[test]
    fn each_of_three_begins_with_a_third_of_its_own() {
        for names in [["a", "b", "c"], ["c", "a", "b"]] {
            assert_eq!([turn("a", &names, 200), turn("b", &names, 200), turn("c", &names, 200)], [(0, 67), (67, 67), (134, 67)]);
            assert_eq!([turn("a", &names, 3), turn("b", &names, 3), turn("c", &names, 3)], [(0, 1), (1, 1), (2, 1)]);
        }
        assert_eq!(turn("a", &["a"], 1_000), (0, 100), "a transaction has its bound");
    }

    #[test]
    fn whoever_is_unknown_begins_at_the_front_and_nobody_behind_the_end() {
        assert_eq!(turn("x", &["a", "b"], 10), (0, 5));
        assert_eq!(Turn::of(None, &[], 10), Turn { first: 0, at_once: 10 });
        assert_eq!(Turn::of(None, &[], 0), Turn { first: 0, at_once: 1 });
        let many: Vec<String> = (10..50).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for due in 0..100 {
            for own in &many {
                let (first, at_once) = turn(own, &many, due);
                assert!(first <= due && at_once >= 1, "{own} {due}");
            }
        }
    }
}
