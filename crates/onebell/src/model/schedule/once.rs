//! One instant: RFC 3339, or a local time in the schedule's zone.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{Dst, Moment, Note, ScheduleError, Slot};

pub(super) fn read(text: &str, zone: &TimeZone, dst: Dst) -> Result<Slot, ScheduleError> {
    let failed = |problem: &str| {
        ScheduleError::new(
            format!("at {text:?}"),
            problem,
            "write a local time such as \"2026-12-01T02:00\", or an instant such as \"2026-12-01T02:00:00+07:00\"",
        )
    };
    let trimmed = text.trim();
    if trimmed.contains('[') {
        return Err(failed("a zone in brackets; the zone is `time_zone`"));
    }
    if let Ok(at) = trimmed.parse::<jiff::Timestamp>() {
        return Ok(Slot { at: at.into(), note: None });
    }
    if !trimmed.contains(['T', 't', ' ']) {
        return Err(failed("not a date with a time"));
    }
    let local: DateTime = trimmed.parse().map_err(|_| failed("not a date with a time"))?;
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let outside = |_| failed("outside the years that can be written");
    match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => {
            let at = offset.to_timestamp(local).map_err(outside)?;
            Ok(Slot { at: at.into(), note: None })
        }
        AmbiguousOffset::Fold { before, .. } => {
            // Once is once, under every policy: the first pass.
            let at = before.to_timestamp(local).map_err(outside)?;
            Ok(Slot { at: at.into(), note: Some(Note::FoldFirst) })
        }
        AmbiguousOffset::Gap { before, .. } => {
            let note = match dst {
                Dst::Vixie => Note::GapShifted,
                Dst::Skip => Note::GapSkipped,
                Dst::Wall => return Err(skipped(text)),
            };
            // Read with the offset before the gap it lies after the change, by less than the gap's length.
            let inside = before.to_timestamp(local).map_err(outside)?;
            let upto = inside.checked_add(jiff::SignedDuration::from_nanos(1)).map_err(outside)?;
            let at = zone.preceding(upto).next().map_or(inside, |change| change.timestamp());
            Ok(Slot { at: Moment::from(at), note: Some(note) })
        }
    }
}

fn skipped(text: &str) -> ScheduleError {
    ScheduleError::new(
        format!("at {text:?}"),
        "this local time does not exist: the clock skips it",
        "write one that exists, or dst = \"vixie\"",
    )
}
