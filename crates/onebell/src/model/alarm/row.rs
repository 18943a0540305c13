//! Slots skipped one after the other.

use super::Alarm;
use crate::model::Moment;

/// How a slot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotEnd {
    /// It, or a range that begins with it, was skipped for a reason that [counts](crate::model::overlap::SkipReason::is_trouble).
    Skipped {
        /// First slot.
        from: Moment,
        /// Last slot.
        to: Moment,
        /// How many; none: too many to be counted.
        count: Option<u64>,
    },
    /// It has a run.
    Opened(Moment),
}

impl SlotEnd {
    fn at(&self) -> Moment {
        match self {
            Self::Skipped { from, .. } => *from,
            Self::Opened(at) => *at,
        }
    }
}

/// The rows of at least `limit` skipped slots between which no slot has a run. `after`: the slot of the last run before them all;
/// it names the row that follows, so that one is told once however long it grows and whatever is forgotten of its beginning.
pub fn skips_in_a_row(after: Option<Moment>, mut ends: Vec<SlotEnd>, limit: u32) -> Vec<Alarm> {
    ends.sort_by_key(SlotEnd::at);
    let mut rows = Vec::new();
    let mut row = Row::after(after);
    for end in ends {
        match end {
            SlotEnd::Skipped { from, to, count } => row.add(from, to, count),
            SlotEnd::Opened(at) => rows.extend(std::mem::replace(&mut row, Row::after(Some(at))).told(limit)),
        }
    }
    rows.extend(row.told(limit));
    rows
}

struct Row {
    after: Option<Moment>,
    span: Option<(Moment, Moment)>,
    /// None: uncounted.
    count: Option<u64>,
}

impl Row {
    fn after(after: Option<Moment>) -> Self {
        Self { after, span: None, count: Some(0) }
    }

    fn add(&mut self, from: Moment, to: Moment, count: Option<u64>) {
        let (first, last) = self.span.unwrap_or((from, to));
        self.span = Some((first, last.max(to)));
        self.count = self.count.zip(count).map(|(before, more)| before.saturating_add(more));
    }

    fn told(self, limit: u32) -> Option<Alarm> {
        let (first, last) = self.span?;
        let enough = self.count.is_none_or(|count| count >= u64::from(limit));
        enough.then_some(Alarm::Skipped { after: self.after, first, last, count: self.count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: i64) -> Moment {
        Moment::from_micros(n)
    }

    fn skipped(from: i64, to: i64) -> SlotEnd {
        SlotEnd::Skipped { from: at(from), to: at(to), count: u64::try_from(to - from + 1).ok() }
    }

    fn told(after: i64, first: i64, last: i64, count: u64) -> Alarm {
        Alarm::Skipped { after: Some(at(after)), first: at(first), last: at(last), count: Some(count) }
    }

    #[test]
    fn so_many_in_a_row_are_told_and_fewer_are_not() {
        let row = |slots: &[SlotEnd]| skips_in_a_row(Some(at(0)), slots.to_vec(), 3);
        assert_eq!(row(&[skipped(1, 1), skipped(2, 2)]), []);
        assert_eq!(row(&[skipped(2, 3), skipped(1, 1)]), [told(0, 1, 3, 3)], "in whatever order they are named");
    }

    #[test]
    fn a_run_in_between_starts_a_new_count() {
        let slots = vec![skipped(1, 2), SlotEnd::Opened(at(3)), skipped(4, 5)];
        assert_eq!(skips_in_a_row(Some(at(0)), slots.clone(), 3), []);
        assert_eq!(skips_in_a_row(Some(at(0)), slots, 2), [told(0, 1, 2, 2), told(3, 4, 5, 2)]);
    }

    #[test]
    fn a_range_that_nobody_counted_is_many() {
        let many = SlotEnd::Skipped { from: at(1), to: at(9), count: None };
        let expected = Alarm::Skipped { after: None, first: at(1), last: at(10), count: None };
        assert_eq!(skips_in_a_row(None, vec![many, skipped(10, 10)], 1000), [expected]);
    }
}
