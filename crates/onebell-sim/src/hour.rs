//! When a history begins: at some hour of some day, or just before the clocks of a zone are changed.

use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};

use crate::dice::Dice;

/// An hour, and the zone whose clocks are changed within it.
#[derive(Debug, Clone, Copy)]
pub struct Hour {
    /// The beginning of the history.
    pub start: Moment,
    /// Where the clocks are changed, and when.
    pub change: Option<Change>,
}

/// Clocks are changed.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    zone: &'static str,
    /// The hour, in cron's words, that is left out or comes twice.
    hours: &'static str,
    /// The instant.
    pub at: Moment,
}

const fn seconds(since_1970: i64) -> Moment {
    Moment::from_micros(since_1970 * 1_000_000)
}

/// Somewhere in November, nothing special.
const ANY: Hour = Hour { start: seconds(1_795_978_800), change: None };

/// Berlin leaves out 02:00 to 03:00 and later has it twice; Lord Howe has 01:30 to 02:00 twice, half an hour only.
const CHANGES: [Change; 3] = [
    Change { zone: "Europe/Berlin", hours: "2", at: seconds(1_774_746_000) },
    Change { zone: "Europe/Berlin", hours: "2", at: seconds(1_792_890_000) },
    Change { zone: "Australia/Lord_Howe", hours: "1", at: seconds(1_775_314_800) },
];

impl Hour {
    /// One that the seed chooses.
    pub fn of(dice: &mut Dice) -> Self {
        if !dice.chance(400) {
            return ANY;
        }
        let change = *dice.pick(&CHANGES);
        Self { start: change.at - std::time::Duration::from_secs(35), change: Some(change) }
    }

    /// A schedule whose times the change of the clocks is about, if there is one.
    pub fn schedule(&self, dice: &mut Dice) -> Option<ScheduleDefinition> {
        let change = self.change?;
        let minutes = *dice.pick(&["*", "*/2", "1-59/3", "30", "58,59,0,1,2,3,30,31,32,33", "57"]);
        Some(ScheduleDefinition {
            when: When::Cron { expression: format!("{minutes} {} * * *", change.hours), seconds: false },
            time_zone: change.zone.to_owned(),
            dst: *dice.pick(Dst::ALL),
        })
    }
}
