//! The zone's clock, UTC minute by UTC minute.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{AFTER, BEFORE};

/// One UTC minute as the zone shows it.
pub(crate) struct Minute {
    pub(crate) utc: i64,
    pub(crate) local: i64,
    /// The offset grew: local minutes from here up to `local` do not exist.
    pub(crate) missing_from: Option<i64>,
    /// The same local minute came before.
    pub(crate) second_pass: bool,
    /// It comes again.
    pub(crate) first_pass: bool,
}

/// Every UTC minute round `transition`, in minutes since 1970.
pub(crate) fn walk(zone: &TimeZone, transition: i64) -> Vec<Minute> {
    let offset = |utc: i64| i64::from(zone.to_offset(Timestamp::from_second(utc * 60).unwrap()).seconds()) / 60;
    // Shown so far, also before the minutes that are compared.
    let mut shown: HashSet<i64> =
        (BEFORE..BEFORE + 1500).map(|back| transition - back - 1).map(|utc| utc + offset(utc)).collect();
    let mut minutes: Vec<Minute> = Vec::new();
    let mut last = transition - BEFORE - 1 + offset(transition - BEFORE - 1);
    for utc in transition - BEFORE..transition + AFTER {
        let local = utc + offset(utc);
        let missing_from = (local > last + 1).then_some(last + 1);
        minutes.push(Minute { utc, local, missing_from, second_pass: !shown.insert(local), first_pass: false });
        last = local;
    }
    let again: HashSet<i64> = minutes.iter().filter(|minute| minute.second_pass).map(|minute| minute.local).collect();
    for minute in &mut minutes {
        minute.first_pass = !minute.second_pass && again.contains(&minute.local);
    }
    minutes
}
