//! What chaos itself saw and did, while it went on. Receivers, the witness and the storm write here; it survives every replica.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onebell::model::Moment;

use super::phase::Place;
use crate::signals::{self, Signal};

/// The shared record.
#[derive(Debug, Default)]
pub(super) struct Scene(Mutex<Record>);

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) log: Vec<Entry>,
    pub(super) replicas: BTreeMap<String, Player>,
    pub(super) executions: Vec<Execution>,
    pub(super) effects: Vec<EffectSeen>,
    pub(super) receipts: Vec<Receipt>,
    /// Faults of the plan that still need a message under way.
    pub(super) messages_wanted: usize,
    pairs: BTreeMap<String, u64>,
}

/// A line of chaos's own log.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) at: Moment,
    /// The replica that it is about.
    pub(super) replica: String,
    pub(super) what: String,
}

/// A replica's process.
#[derive(Debug, Clone)]
pub(super) struct Player {
    pub(super) pid: u32,
    /// What kills it from here.
    armed: Option<Trigger>,
    seen: u64,
    /// A message is to be its end, wherever that is armed: nobody holds it up.
    hurried: bool,
    /// The armed trigger killed it.
    shot: bool,
}

/// A death that chaos's own receivers bring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger {
    pub(super) place: Place,
    pub(super) nth: u64,
    pub(super) after: Duration,
}

/// One execution of a command step.
#[derive(Debug, Clone)]
pub(super) struct Execution {
    /// `job/step`.
    pub(super) step: String,
    /// Also its idempotency key.
    pub(super) step_id: String,
    pub(super) attempt: u64,
    pub(super) replica: String,
    pub(super) pid: u32,
    pub(super) began: Moment,
    pub(super) ended: Option<Moment>,
    /// Exit code; none: it was ended from outside.
    pub(super) code: Option<i32>,
    /// Another execution of the same step was still going on when it began.
    pub(super) beside: Option<usize>,
}

/// An effect that a job said it had.
#[derive(Debug, Clone)]
pub(super) struct EffectSeen {
    pub(super) key: String,
    pub(super) step_id: String,
    pub(super) attempt: u64,
    pub(super) replica: String,
    pub(super) at: Moment,
}

/// A message that a receiver accepted.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    /// The receiver's own name for it, derived from its key.
    pub(super) id: String,
    pub(super) replica: String,
    pub(super) at: Moment,
}

impl Scene {
    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what chaos did or saw.
    pub(super) fn note(&self, replica: &str, what: impl Into<String>) {
        self.record().note(replica, what);
    }

    /// Arms, or disarms, what kills this replica from here.
    pub(super) fn arm(&self, replica: &str, trigger: Option<Trigger>) {
        if let Some(player) = self.record().replicas.get_mut(replica) {
            (player.armed, player.seen) = (trigger, 0);
        }
    }

    /// A receiver accepted a message from this replica.
    pub(super) fn received(&self, replica: &str, id: &str) {
        let receipt = Receipt { id: id.to_owned(), replica: replica.to_owned(), at: onebell::time::host_now() };
        self.record().receipts.push(receipt);
    }

    /// A replica got so far in a conversation with a receiver: that may be its end. Whether it had better wait, because a message is
    /// needed for somebody else's.
    pub(super) fn converses(&self, replica: &str, place: Place) -> bool {
        let mut record = self.record();
        let wanted = record.messages_wanted > 0;
        let Some(player) = record.replicas.get_mut(replica) else { return false };
        let Some(trigger) = player.armed.filter(|trigger| trigger.place != Place::Work) else { return wanted && !player.hurried };
        if trigger.place == place && !player.shot {
            player.seen += 1;
            if player.seen >= trigger.nth {
                record.shoot(replica, &format!("in its conversation with a receiver, at {place}"));
            }
        }
        false
    }
}

impl Record {
    pub(super) fn note(&mut self, replica: &str, what: impl Into<String>) {
        self.log.push(Entry { at: onebell::time::host_now(), replica: replica.to_owned(), what: what.into() });
    }

    /// A replica that was started.
    pub(super) fn enters(&mut self, replica: &str, pid: u32, hurried: bool) {
        self.replicas.insert(replica.to_owned(), Player { pid, armed: None, seen: 0, hurried, shot: false });
    }

    /// Whether chaos's own hand killed it.
    pub(super) fn was_shot(&self, replica: &str) -> bool {
        self.replicas.get(replica).is_some_and(|player| player.shot)
    }

    /// The end of a replica that its trigger was waiting for.
    pub(super) fn shoot(&mut self, replica: &str, where_: &str) {
        if let Some(player) = self.replicas.get_mut(replica).filter(|player| !player.shot) {
            player.shot = true;
            signals::send(player.pid, Signal::KILL);
            self.note(replica, format!("killed {where_}"));
        }
    }

    /// So long after its command began, the replica dies; nothing when that is not what it waits for.
    pub(super) fn work_trigger(&mut self, replica: &str) -> Option<Duration> {
        let player = self.replicas.get_mut(replica)?;
        let trigger = player.armed.filter(|trigger| trigger.place == Place::Work && !player.shot)?;
        player.seen += 1;
        (player.seen == trigger.nth).then_some(trigger.after)
    }

    /// The moment has come: the replica dies, unless its command was done before. Then it waits for the next one.
    pub(super) fn shoot_at_work(&mut self, replica: &str, execution: usize) {
        if self.executions.get(execution).is_some_and(|execution| execution.ended.is_none()) {
            self.shoot(replica, "while its command was at work");
        } else if let Some(player) = self.replicas.get_mut(replica) {
            player.seen = 0;
            // These commands are quicker than it was drawn for.
            if let Some(trigger) = &mut player.armed {
                trigger.after /= 4;
            }
        }
    }

    /// Two runs in a row have the same number: what they write to the same people has the same keys.
    pub(super) fn pair_of(&mut self, run: &str) -> u64 {
        let next = self.pairs.len() as u64 / 2 + 1;
        *self.pairs.entry(run.to_owned()).or_insert(next)
    }
}
