//! What the mail server counted, in the contract's words.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answer::{Answer, Failure};

/// The copies that know nothing of each other.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Naive {
    pub(super) accepted: u64,
    pub(super) duplicates: u64,
}

/// The demo's answer.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) customers: u64,
    pub(super) naive: Naive,
    pub(super) accepted: u64,
    pub(super) distinct: u64,
    pub(super) duplicates: u64,
    /// Never accepted and not in doubt.
    pub(super) missing: u64,
    /// Caught by the kill between the commit of `sending` and its answer.
    pub(super) in_doubt: u64,
    /// Of those: had arrived.
    pub(super) confirmed: u64,
    pub(super) replicas: u64,
    pub(super) killed: u64,
    pub(super) recoveries: u64,
    pub(super) seed: u64,
    pub(super) elapsed_ms: u64,
}

impl Tally {
    pub(super) fn of(accepted: &BTreeMap<String, u64>, customers: u64) -> Self {
        let total: u64 = accepted.values().sum();
        let distinct = accepted.len() as u64;
        Self {
            accepted: total,
            distinct,
            duplicates: total - distinct,
            missing: customers.saturating_sub(distinct),
            ..Self::default()
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "   The mail server accepted {} e-mails for {} customers: {} twice, {} missing.",
            self.accepted, self.distinct, self.duplicates, self.missing
        )];
        if self.in_doubt > 0 {
            lines.push(format!(
                "   In doubt: {}, because the replica died between the commit of `sending` and the answer. The mail server, asked, had {} of them; the others were sent after that.",
                self.in_doubt, self.confirmed
            ));
        }
        lines.push(format!(
            "   {} replicas, {} killed, {} found lost and recovered.",
            self.replicas, self.killed, self.recoveries
        ));
        lines.push(String::new());
        lines.push("Three replicas, one bell. Next: onebell init".to_owned());
        lines
    }

    /// The demo fails when its promise does not hold.
    pub(super) fn verdict(&self) -> Answer {
        if self.duplicates == 0 && self.missing == 0 && self.killed == 1 {
            return Ok(());
        }
        Err(Failure::Work(format!(
            "the promise did not hold: {} duplicates, {} missing, {} killed (seed {})",
            self.duplicates, self.missing, self.killed, self.seed
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_counts_by_recipient_and_fails_on_any_duplicate_or_gap() {
        let accepted = |pairs: &[(&str, u64)]| pairs.iter().map(|(to, n)| ((*to).to_owned(), *n)).collect();
        let good = Tally { killed: 1, ..Tally::of(&accepted(&[("a", 1), ("b", 1)]), 2) };
        assert!(good.verdict().is_ok());
        let twice = Tally { killed: 1, ..Tally::of(&accepted(&[("a", 2), ("b", 1)]), 2) };
        assert_eq!((twice.accepted, twice.distinct, twice.duplicates), (3, 2, 1));
        assert!(twice.verdict().is_err());
        let gap = Tally { killed: 1, ..Tally::of(&accepted(&[("a", 1)]), 2) };
        assert_eq!(gap.missing, 1);
        assert!(gap.verdict().is_err());
    }
}
