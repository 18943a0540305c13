//! From matching civil times to instants. The zone's history is walked in stretches of constant
//! offset: inside one, civil time and instants run alike; the policy speaks only where two meet.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::{Dst, Moment, Note, Slot};

/// Calendar and rules repeat after 400 years, with two changes a year in most zones, four in some.
const STRETCHES_MAX: usize = 2_000;
const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// More than two offsets can differ by.
const MARGIN: SignedDuration = SignedDuration::from_hours(72);

/// What names civil times: no zone, no instants, whole seconds.
pub(super) trait Civil {
    /// The first match at or after `from`.
    fn next(&self, from: DateTime) -> Option<DateTime>;
    /// The last match at or before `upto`.
    fn last(&self, upto: DateTime) -> Option<DateTime>;
    /// Whether exactly `local` matches.
    fn matches(&self, local: DateTime) -> bool;
    /// Times of day are meant, not a rhythm.
    fn fixed(&self) -> bool;
}

pub(super) struct Wall<'a, P> {
    pub(super) pattern: &'a P,
    pub(super) zone: &'a TimeZone,
    pub(super) dst: Dst,
    /// The stretch looked at last: neighbouring slots mostly share it, and finding one is the costly part.
    pub(super) near: &'a mut Option<Stretch>,
}

/// A time during which the zone's offset does not change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    offset: Offset,
    begins: Option<Change>,
    ends: Option<Change>,
}

/// Where two stretches meet: one instant and what the clock shows just before and at it.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: Timestamp,
    before: DateTime,
    after: DateTime,
}

impl Change {
    fn of(zone: &TimeZone, at: Timestamp) -> Option<Self> {
        let offset_before = zone.to_offset(at.checked_sub(SECOND).ok()?);
        Some(Self { at, before: offset_before.to_datetime(at), after: zone.to_offset(at).to_datetime(at) })
    }
}

impl Stretch {
    /// The one that contains `at`, a whole second.
    fn around(zone: &TimeZone, at: Timestamp) -> Option<Self> {
        let begins = zone.preceding(at.checked_add(SECOND).ok()?).next().map(|change| change.timestamp());
        let ends = zone.following(at).next().map(|change| change.timestamp());
        Some(Self {
            offset: zone.to_offset(at),
            begins: begins.and_then(|at| Change::of(zone, at)),
            ends: ends.and_then(|at| Change::of(zone, at)),
        })
    }

    fn contains(&self, at: Timestamp) -> bool {
        self.begins.is_none_or(|change| change.at <= at) && self.ends.is_none_or(|change| at < change.at)
    }
}

impl<P: Civil> Wall<'_, P> {
    fn stretch(&mut self, at: Timestamp) -> Option<Stretch> {
        if !self.near.is_some_and(|near| near.contains(at)) {
            *self.near = Stretch::around(self.zone, at);
        }
        *self.near
    }

    /// The first slot strictly after `after`.
    pub(super) fn next(&mut self, after: Moment) -> Option<Slot> {
        let start = whole_second(after)?.checked_add(SECOND).ok()?;
        let mut stretch = self.stretch(start)?;
        let mut from = stretch.offset.to_datetime(start);
        for _ in 0..STRETCHES_MAX {
            if let Some(first) = self.first_local(&stretch) {
                from = from.max(first);
            }
            let found = self.pattern.next(from)?;
            let Some(change) = stretch.ends else {
                return self.slot(&stretch, found);
            };
            if found < change.before {
                return self.slot(&stretch, found);
            }
            if let Some(slot) = self.in_gap(change, found) {
                return Some(slot);
            }
            // Where nothing matches for years, nobody walks through their changes.
            let far = found.year() > change.after.year() + 1;
            let at = if far { stretch.offset.to_timestamp(found).ok()?.checked_sub(MARGIN).ok()? } else { change.at };
            stretch = self.stretch(at)?;
            from = stretch.offset.to_datetime(at);
        }
        None
    }

    /// The last slot at or before `at`.
    pub(super) fn last(&mut self, at: Moment) -> Option<Slot> {
        let end = whole_second(at)?;
        let mut stretch = self.stretch(end)?;
        let mut upto = stretch.offset.to_datetime(end);
        for _ in 0..STRETCHES_MAX {
            let found = self.pattern.last(upto)?;
            if self.first_local(&stretch).is_none_or(|first| found >= first) {
                return self.slot(&stretch, found);
            }
            let change = stretch.begins?;
            if let Some(slot) = self.in_gap(change, found) {
                return Some(slot);
            }
            let far = found.year() < change.before.year() - 1;
            let end = if far {
                stretch.offset.to_timestamp(found).ok()?.checked_add(MARGIN).ok()?
            } else {
                change.at.checked_sub(SECOND).ok()?
            };
            stretch = self.stretch(end)?;
            upto = stretch.offset.to_datetime(end);
        }
        None
    }

    /// Where the local times of a stretch begin to count: after a fold the second pass may not.
    fn first_local(&self, stretch: &Stretch) -> Option<DateTime> {
        let change = stretch.begins?;
        let both_passes = self.dst == Dst::Wall || !self.pattern.fixed();
        Some(if both_passes { change.after } else { change.after.max(change.before) })
    }

    /// The slot at the end of a gap for `found`, a matching local time, if it lies in the gap.
    fn in_gap(&self, change: Change, found: DateTime) -> Option<Slot> {
        if found < change.before || found >= change.after {
            return None;
        }
        let note = match self.dst {
            Dst::Vixie if self.pattern.fixed() => Note::GapShifted,
            Dst::Skip => Note::GapSkipped,
            Dst::Vixie | Dst::Wall => return None,
        };
        // A local time that exists at that very instant makes it an ordinary slot.
        let note = (!self.pattern.matches(change.after)).then_some(note);
        Some(Slot { at: change.at.into(), note })
    }

    fn slot(&self, stretch: &Stretch, local: DateTime) -> Option<Slot> {
        let at = stretch.offset.to_timestamp(local).ok()?;
        let second = stretch.begins.is_some_and(|change| local < change.before);
        let first = stretch.ends.is_some_and(|change| local >= change.after);
        let note = if second { Some(Note::FoldSecond) } else { first.then_some(Note::FoldFirst) };
        Some(Slot { at: at.into(), note })
    }
}

fn whole_second(at: Moment) -> Option<Timestamp> {
    Timestamp::from_second(at.micros().div_euclid(1_000_000)).ok()
}
