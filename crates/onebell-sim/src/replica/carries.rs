//! What a process brings with it: jobs in some version, handlers, queues and channels; not every process brings all.

use onebell::roles::scheduler::Carried;

use crate::dice::Dice;
use crate::jobs::{HOOK, MAIL, SLOW, UNDO, Versions, WORK};

/// What a process can do.
#[derive(Debug, Clone)]
pub struct Carries {
    /// Jobs that it plans, claims and prunes.
    pub jobs: Vec<Carried>,
    /// Handlers.
    pub handlers: Vec<&'static str>,
    /// Queues that it serves.
    pub queues: Vec<&'static str>,
    /// Channels that it delivers to.
    pub channels: Vec<&'static str>,
    /// Nothing is missing.
    pub all: bool,
}

/// The queue of steps that name none.
const DEFAULT: &str = "default";

impl Carries {
    /// Everything; of each job the newest version, or any.
    pub fn all(dice: &mut Dice, jobs: &[Versions]) -> Self {
        let newest = |versions: &Versions| versions.first().cloned();
        let jobs = if dice.chance(700) {
            jobs.iter().filter_map(newest).collect()
        } else {
            jobs.iter().map(|versions| dice.pick(versions).clone()).collect()
        };
        Self { jobs, handlers: vec![WORK, UNDO], queues: vec![DEFAULT, SLOW], channels: vec![MAIL, HOOK], all: true }
    }

    /// So often in a thousand only some of it, and never what nobody brings.
    pub fn some(dice: &mut Dice, jobs: &[Versions], less: &Less) -> Self {
        let whole = Self::all(dice, jobs);
        if !dice.chance(less.per_mille) {
            return whole;
        }
        let mut kept = whole.clone();
        kept.jobs.retain(|_| dice.chance(700));
        for names in [&mut kept.handlers, &mut kept.queues, &mut kept.channels] {
            names.retain(|name| dice.chance(600) && less.nobody != Some(name));
        }
        kept.all =
            kept.jobs.len() == whole.jobs.len() && (kept.handlers.len(), kept.queues.len(), kept.channels.len()) == (2, 2, 2);
        kept
    }
}

/// How much is missing in a history.
#[derive(Debug, Clone, Copy)]
pub struct Less {
    /// Processes that do not bring everything, in a thousand.
    pub per_mille: u64,
    /// What none of those brings.
    pub nobody: Option<&'static str>,
}

impl Less {
    /// As chance has it.
    pub fn of(dice: &mut Dice) -> Self {
        let per_mille = *dice.pick(&[0, 0, 0, 300, 1000]);
        let nobody = *dice.pick(&[Some(SLOW), Some(UNDO), Some(WORK), Some(MAIL), None]);
        Self { per_mille, nobody }
    }

    /// Nobody brings everything.
    pub fn is_everywhere(&self) -> bool {
        self.per_mille == 1000
    }
}
