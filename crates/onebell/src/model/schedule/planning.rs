//! What one pass of planning does with the slots between the cursor and now.
//!
//! Slots are looked at from the newest to the oldest, so that a long outage costs no more than a
//! short one: what lies further back is one range, counted only as far as the walk is bounded.

use std::time::Duration;

use super::super::job::Missed;
use super::super::overlap::SkipReason;
use super::wall::Stretch;
use super::{Moment, Note, Schedule, Slot};

/// Most slots that one pass looks at; `missed = { all = N }` opens no more than these either.
pub const WALK_MAX: usize = 4_000;
/// Most slots that one pass opens; the rest stays due for the next one.
pub const OPEN_MAX: usize = 500;
/// Under `missed = "skip"`, a slot within this of now is on time.
const ON_TIME: Duration = Duration::from_secs(60);

/// A slot to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The slot.
    pub at: Moment,
    /// It is one of several that were missed: overlap does not skip it.
    pub catch_up: bool,
}

/// Slots to record as skipped, in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkippedRange {
    /// The oldest of them.
    pub from: Moment,
    /// The newest of them.
    pub to: Moment,
    /// How many; unknown when there are more than [`WALK_MAX`] to look at.
    pub count: Option<u64>,
    /// Why.
    pub reason: SkipReason,
}

/// What one pass of planning does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Slots to open, oldest first.
    pub open: Vec<Due>,
    /// Slots to record as skipped, oldest first.
    pub skip: Vec<SkippedRange>,
    /// Everything up to here is accounted for. Never before the cursor that was given.
    pub cursor: Moment,
    /// The first slot after that cursor. Not after now only when [`OPEN_MAX`] was reached: plan again at once.
    pub next: Option<Moment>,
}

/// Plans the slots after `cursor` up to `now`, of several schedules as one: a slot per instant.
///
/// A slot is missed when a later one is due too. `missed` decides over those; what is older than
/// `missed_window` is never opened. When `now` lies before the cursor nothing is due.
pub fn plan(schedules: &[Schedule], cursor: Moment, now: Moment, missed: Missed, missed_window: Duration) -> Planned {
    let mut sorting =
        Sorting { missed, missed_window, now, opened: Vec::new(), left: Vec::new(), gaps: Vec::new(), in_exclusion: false };
    let mut walk = Backwards::new(schedules, cursor, now);
    for slot in walk.by_ref().take(WALK_MAX) {
        sorting.take(slot);
    }
    if let Some(newest) = walk.next() {
        sorting.leave_the_rest(schedules, cursor, newest.at);
    }
    let due = sorting.opened.len() + sorting.left.len();
    let catch_up = matches!(missed, Missed::All(_)) && due > 1;
    let mut open: Vec<Due> = sorting.opened.iter().rev().map(|at| Due { at: *at, catch_up }).collect();
    let mut skip: Vec<SkippedRange> = sorting.left.into_iter().chain(sorting.gaps).collect();
    skip.sort_unstable_by_key(|range| range.from);
    let mut reached = now.max(cursor);
    // One more than the bound goes along: alone in the next pass, it would no longer count as missed.
    if open.len() > OPEN_MAX + 1 {
        open.truncate(OPEN_MAX);
        reached = open.last().map_or(reached, |due| due.at);
        skip.retain(|range| range.to <= reached);
    }
    Planned { open, skip, cursor: reached, next: next_slot(schedules, reached).map(|slot| slot.at) }
}

/// The first slot of any of `schedules` after `after`.
pub fn next_slot(schedules: &[Schedule], after: Moment) -> Option<Slot> {
    schedules.iter().filter_map(|schedule| schedule.next(after)).min_by_key(|slot| (slot.at, is_skipped(slot)))
}

/// The slots after `after` up to `upto` as one range to skip, if there is any: for a pause, an edit, a removal.
pub fn skipped_range(schedules: &[Schedule], after: Moment, upto: Moment, reason: SkipReason) -> Option<SkippedRange> {
    let from = next_slot(schedules, after).filter(|slot| slot.at <= upto)?.at;
    let mut walk = Backwards::new(schedules, after, upto);
    let to = walk.next()?.at;
    let more = walk.by_ref().take(WALK_MAX).count();
    let count = if walk.next().is_none() { u64::try_from(more + 1).ok() } else { None };
    Some(SkippedRange { from, to, count, reason })
}

fn reason_of(slot: &Slot) -> Option<SkipReason> {
    match slot.note {
        Some(Note::GapSkipped) => Some(SkipReason::DstGap),
        Some(Note::Excluded) => Some(SkipReason::Excluded),
        _ => None,
    }
}

/// It is named to be recorded, not to be opened.
fn is_skipped(slot: &Slot) -> bool {
    reason_of(slot).is_some()
}

/// Slots of a union, newest first, one per instant; where schedules meet, an ordinary slot hides a skipped one.
struct Backwards<'a> {
    after: Moment,
    heads: Vec<Head<'a>>,
}

struct Head<'a> {
    schedule: &'a Schedule,
    near: Option<Stretch>,
    slot: Option<Slot>,
}

impl<'a> Backwards<'a> {
    fn new(schedules: &'a [Schedule], after: Moment, upto: Moment) -> Self {
        // Before the cursor there is nothing to look for; a clock that ran back names no slot.
        let head = |schedule: &'a Schedule| {
            let mut near = None;
            let slot = if upto > after { schedule.last_near(upto, &mut near) } else { None };
            Head { schedule, near, slot }
        };
        Self { after, heads: schedules.iter().map(head).collect() }
    }
}

impl Iterator for Backwards<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let slots = self.heads.iter().filter_map(|head| head.slot);
        let newest = slots.max_by_key(|slot| (slot.at, !is_skipped(slot))).filter(|slot| slot.at > self.after)?;
        let before = Moment::from_micros(newest.at.micros().saturating_sub(1));
        for head in self.heads.iter_mut().filter(|head| head.slot.is_some_and(|slot| slot.at == newest.at)) {
            head.slot = head.schedule.last_near(before, &mut head.near);
        }
        Some(newest)
    }
}

/// Sorts slots, newest first, into those to open and those to skip.
struct Sorting {
    missed: Missed,
    missed_window: Duration,
    now: Moment,
    opened: Vec<Moment>,
    /// Newest first.
    left: Vec<SkippedRange>,
    gaps: Vec<SkippedRange>,
    /// Whether the slot before lay on an excluded day as well: those in a row are one range.
    in_exclusion: bool,
}

impl Sorting {
    fn take(&mut self, slot: Slot) {
        let follows = std::mem::replace(&mut self.in_exclusion, slot.note == Some(Note::Excluded));
        if let Some(reason) = reason_of(&slot) {
            match self.gaps.last_mut() {
                Some(range) if follows && self.in_exclusion => {
                    range.from = slot.at;
                    range.count = range.count.map(|count| count + 1);
                }
                _ => self.gaps.push(SkippedRange { from: slot.at, to: slot.at, count: Some(1), reason }),
            }
        } else if let Some(reason) = self.reason_to_skip(slot.at) {
            self.leave(slot.at, reason);
        } else {
            self.opened.push(slot.at);
        }
    }

    fn reason_to_skip(&self, at: Moment) -> Option<SkipReason> {
        let age = self.now.since(at);
        let in_window = age <= self.missed_window;
        match self.missed {
            Missed::Skip => (age > ON_TIME).then_some(SkipReason::Missed),
            // All behind the one that runs are one range, however old.
            Missed::Latest if !self.opened.is_empty() => Some(SkipReason::Missed),
            Missed::Latest => (!in_window).then_some(SkipReason::OutsideWindow),
            Missed::All(_) if !in_window => Some(SkipReason::OutsideWindow),
            Missed::All(most) => {
                let most = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
                (self.opened.len() >= most).then_some(SkipReason::Missed)
            }
        }
    }

    fn leave(&mut self, at: Moment, reason: SkipReason) {
        match self.left.last_mut() {
            Some(range) if range.reason == reason => {
                range.from = at;
                range.count = range.count.map(|count| count + 1);
            }
            _ => self.left.push(SkippedRange { from: at, to: at, count: Some(1), reason }),
        }
    }

    /// Everything after `cursor` up to `newest`, without looking at each.
    fn leave_the_rest(&mut self, schedules: &[Schedule], cursor: Moment, newest: Moment) {
        let Some(oldest) = next_slot(schedules, cursor).map(|slot| slot.at) else { return };
        let reason = match self.missed {
            Missed::Skip => SkipReason::Missed,
            Missed::Latest if !self.opened.is_empty() => SkipReason::Missed,
            Missed::Latest => SkipReason::OutsideWindow,
            Missed::All(_) => return self.leave_the_rest_by_window(schedules, oldest, newest),
        };
        self.leave_range(oldest, newest, reason);
    }

    fn leave_the_rest_by_window(&mut self, schedules: &[Schedule], oldest: Moment, newest: Moment) {
        let edge = self.now - self.missed_window;
        let before_edge = Moment::from_micros(edge.micros().saturating_sub(1));
        let first_inside = next_slot(schedules, before_edge).map(|slot| slot.at).filter(|at| *at <= newest);
        let Some(first_inside) = first_inside else {
            return self.leave_range(oldest, newest, SkipReason::OutsideWindow);
        };
        self.leave_range(first_inside.max(oldest), newest, SkipReason::Missed);
        let before = Moment::from_micros(first_inside.micros().saturating_sub(1));
        if let Some(last_outside) =
            Backwards::new(schedules, Moment::from_micros(oldest.micros().saturating_sub(1)), before).next()
        {
            self.leave_range(oldest, last_outside.at, SkipReason::OutsideWindow);
        }
    }

    fn leave_range(&mut self, from: Moment, to: Moment, reason: SkipReason) {
        match self.left.last_mut() {
            Some(range) if range.reason == reason => {
                range.from = from;
                range.count = None;
            }
            _ => self.left.push(SkippedRange { from, to, count: None, reason }),
        }
    }
}
