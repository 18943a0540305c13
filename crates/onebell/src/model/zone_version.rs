//! Versions of time-zone data, and who plans when replicas have different ones: the newest, so that no slot follows rules that
//! are out of date where somebody knows better.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{JobId, Moment, ReplicaId};

/// A version of the IANA's, such as 2026f: a year, then letters. What is written otherwise is older than all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneVersion(Option<(u32, usize, String)>);

impl ZoneVersion {
    /// As folders and replicas say it.
    pub fn read(text: &str) -> Self {
        let parts = text.split_at_checked(4).filter(|(year, letters)| {
            year.bytes().all(|byte| byte.is_ascii_digit()) && letters.bytes().all(|byte| byte.is_ascii_lowercase())
        });
        // After z comes za: more letters are newer.
        Self(parts.and_then(|(year, letters)| Some((year.parse().ok()?, letters.len(), letters.to_owned()))))
    }
}

/// A live replica that plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planner {
    /// Which.
    pub replica: ReplicaId,
    /// The version of its time-zone data.
    pub tzdata: String,
}

/// Those of `planners` whose data is newer than `own`, and the newest version of theirs.
pub fn newer<'a>(own: &str, planners: &'a [Planner]) -> (Vec<&'a Planner>, Option<&'a str>) {
    let own = ZoneVersion::read(own);
    let newer: Vec<_> = planners.iter().filter(|planner| ZoneVersion::read(&planner.tzdata) > own).collect();
    let newest = newer.iter().map(|planner| planner.tzdata.as_str()).max_by_key(|version| ZoneVersion::read(version));
    (newer, newest)
}

/// Due jobs that are left to a replica with newer data, since when. It has a bounded time: one that hangs or doubts its clock
/// keeps no job from being planned.
#[derive(Debug, Clone, Default)]
pub struct Left(BTreeMap<JobId, Moment>);

impl Left {
    /// Which of `due` stay left at `now`, of those that a newer one carries. What is due no longer is forgotten.
    pub fn of(&mut self, due: &[JobId], carried_by_newer: &[JobId], now: Moment, patience: Duration) -> Vec<JobId> {
        self.0.retain(|job, _| due.contains(job));
        carried_by_newer
            .iter()
            .filter(|job| now.since(*self.0.entry((*job).clone()).or_insert(now)) < patience)
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planner(tzdata: &str) -> Planner {
        Planner { replica: ReplicaId::from_text(tzdata), tzdata: tzdata.to_owned() }
    }

    #[test]
    fn versions_are_ordered_by_year_then_letters_and_what_is_no_version_is_the_oldest() {
        let ordered = ["unknown", "2024b", "2025", "2025b", "2025c", "2026a", "2026z", "2026za", "2027a"];
        for pair in ordered.windows(2) {
            assert!(ZoneVersion::read(pair[0]) < ZoneVersion::read(pair[1]), "{pair:?}");
        }
        for odd in ["", "bundled", "2025B", "20", "äöü", "202"] {
            assert_eq!(ZoneVersion::read(odd), ZoneVersion::read("unknown"), "{odd}");
        }
    }

    #[test]
    fn only_a_newer_one_is_left_the_job() {
        let planners = [planner("2025b"), planner("2026f"), planner("unknown"), planner("2026a")];
        let (told, newest) = newer("2025b", &planners);
        assert_eq!(told, [&planners[1], &planners[3]]);
        assert_eq!(newest, Some("2026f"));
        assert_eq!(newer("2026f", &planners), (vec![], None));
        assert_eq!(newer("unknown", &planners).0.len(), 3);
    }

    #[test]
    fn a_job_is_left_for_a_bounded_time_counted_anew_for_each_slot() {
        let (lease, start) = (Duration::from_secs(10), Moment::from_micros(1_800_000_000_000_000));
        let (a, b) = (JobId::of_name("a"), JobId::of_name("b"));
        let (both, mut left) = ([a.clone(), b.clone()], Left::default());
        assert_eq!(
            left.of(&both, std::slice::from_ref(&a), start, lease),
            std::slice::from_ref(&a),
            "b is carried by nobody newer"
        );
        assert_eq!(left.of(&both, std::slice::from_ref(&a), start + lease / 2, lease), std::slice::from_ref(&a));
        assert!(left.of(&both, std::slice::from_ref(&a), start + lease, lease).is_empty(), "the newer one had its time");
        assert!(left.of(std::slice::from_ref(&b), &[], start + lease, lease).is_empty());
        assert_eq!(left.of(&both, std::slice::from_ref(&a), start + lease, lease), [a]);
    }
}
