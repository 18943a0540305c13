//! What follows when a future in hand has ended.

use std::time::Duration;

use futures_util::FutureExt;
use onebell::handler::{StopReason, Vouch};
use onebell::model::JobId;
use onebell::model::ReplicaId;
use onebell::roles::agent::{StepWork, Taken};
use onebell::roles::relay::MessageWork;
use onebell::store::{Renewal, Result};

use super::{Done, KILL_AFTER, Loop, Replica, Stage, TERM_AFTER, What};
use crate::executor::Hand;

impl Replica {
    pub(super) fn ended(&mut self, what: What, done: Done) {
        match (what, done) {
            (_, Done::Enlisted(answer, asked)) => self.enlisted(answer, asked),
            (_, Done::Renewed(answer, asked)) => self.renewed(answer, asked),
            (_, Done::Scheduled(Ok(report))) if report.moved() => {
                self.hint_all();
            }
            (_, Done::Taken(answer)) => self.taken(answer),
            (_, Done::Adopted(Ok(found))) => {
                self.unsure_steps = false;
                found.into_iter().for_each(|work| self.receive(work));
            }
            (_, Done::Claimed(Ok(found))) => found.into_iter().for_each(|work| self.carry(work)),
            (_, Done::Claimed(Err(_))) => self.unsure_messages = true,
            (_, Done::Recovered(Ok(found))) => {
                self.unsure_messages = false;
                found.into_iter().for_each(|work| self.carry(work));
            }
            (_, Done::Left(left)) => self.gone = left,
            (What::Step(step, attempt), Done::Step(settled)) => {
                self.ground.note(|| format!("p{} {step} #{attempt}: {settled:?}", self.number));
                self.in_hand.remove(&(step, attempt));
                self.hint_all();
            }
            (What::Message(key), Done::Message(settled)) => {
                self.ground.note(|| format!("p{} {key}: {settled:?}", self.number));
                self.messages.remove(&key);
                self.hint(Loop::Schedule);
            }
            (_, Done::Supervised) => self.hint(Loop::Schedule),
            (_, _) => {}
        }
    }

    fn enlisted(&mut self, answer: Result<(ReplicaId, Vec<JobId>)>, asked: Duration) {
        self.watch.failed();
        let Ok((id, jobs)) = answer else { return };
        self.ground.note(|| format!("p{} is {id}", self.number));
        (self.identity, self.jobs) = (Some(id), jobs);
        self.vouch.send_replace(Vouch { renewed_at: asked, term_after: TERM_AFTER, kill_after: KILL_AFTER });
    }

    fn renewed(&mut self, answer: Result<Renewal>, asked: Duration) {
        match answer {
            Ok(Renewal::Renewed { beats, cancelling, .. }) => {
                self.vouch.send_modify(|vouch| vouch.renewed_at = asked);
                self.lost = self.watch.renewed(asked, &beats);
                let stoppers = self.in_hand.iter().filter(|((step, _), _)| cancelling.contains(step));
                stoppers.for_each(|(_, stopper)| stopper.stop(StopReason::Cancelled));
            }
            Ok(Renewal::Lost) => {
                self.ground.note(|| format!("{} was found lost", self.name()));
                self.identity = None;
                self.stop_all(StopReason::OwnStop);
                self.watch.failed();
                self.hint(Loop::Renew);
            }
            Err(_) => {
                self.watch.failed();
                self.lost.clear();
            }
        }
    }

    fn taken(&mut self, answer: Result<Taken>) {
        match answer {
            Ok(taken) => {
                self.drain = taken.drain;
                taken.work.into_iter().for_each(|work| self.receive(work));
            }
            Err(_) => self.unsure_steps = true,
        }
    }

    fn receive(&mut self, work: StepWork) {
        self.alone |= work.step.alone;
        if work.step.started { self.attend(work) } else { self.waiting.push_back(work) }
    }

    pub(super) fn start_waiting(&mut self) {
        while self.in_hand.len() < self.concurrency
            && let Some(work) = self.waiting.pop_front()
        {
            self.attend(work);
        }
    }

    fn attend(&mut self, work: StepWork) {
        let (step, attempt) = (work.step.claim.step().clone(), work.step.claim.attempt());
        // As `replica::work::Hands::begin`.
        if matches!(self.stage, Stage::Stopping) || self.vouched().as_ref() != Some(work.step.claim.replica()) {
            work.stopper.stop(StopReason::OwnStop);
        }
        self.in_hand.insert((step.clone(), attempt), work.stopper);
        self.hands.push((What::Step(step, attempt), Hand::new(work.future.map(Done::Step).boxed())));
    }

    fn carry(&mut self, work: MessageWork) {
        self.messages.insert(work.key.clone());
        self.hands.push((What::Message(work.key), Hand::new(work.future.map(Done::Message).boxed())));
    }
}
