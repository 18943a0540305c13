//! What a move of a run tells: by what happened, and by the definition that the run was opened with.

use std::time::Duration;

use super::{Alarm, Told};
use crate::model::run::RunEvent;
use crate::model::{JobDefinition, JobId, Moment, RunId};

/// A run that moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMoved {
    /// Which.
    pub run: RunId,
    /// What it ran for.
    pub slot: Option<Moment>,
    /// Of all its steps together; it only grows, so that failing again has another key.
    pub attempts: u64,
    /// How.
    pub event: RunEvent,
    /// As the run says it.
    pub reason: Option<String>,
    /// By when it should have been over, unless that was told before.
    pub finish_by: Option<Moment>,
    /// What its success ended, if it succeeded and a vigil is kept over its job.
    pub success: Option<Success>,
}

/// A success of a job over which a vigil is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Success {
    /// How long the attempts of the run worked, all together; looked up where the definition asks.
    pub worked: Duration,
    /// Failures told since the success before.
    pub failures: u64,
    /// The silence before it was told.
    pub was_silent: bool,
}

impl RunMoved {
    /// Whether anything may be told, whatever the definition says. `vigil`: one is kept over its job.
    pub fn may_tell(&self, vigil: bool, now: Moment) -> bool {
        match self.event {
            RunEvent::EndFailed | RunEvent::Park => true,
            RunEvent::Succeed => vigil || self.is_late(now),
            _ => false,
        }
    }

    fn is_late(&self, now: Moment) -> bool {
        self.finish_by.is_some_and(|due| due < now)
    }

    /// What it tells to whoever wants to know.
    pub fn alarms(&self, definition: &JobDefinition, now: Moment) -> Vec<Alarm> {
        let (run, attempts, reason) = (self.run.clone(), self.attempts, self.reason.clone());
        let mut alarms = Vec::new();
        match self.event {
            RunEvent::EndFailed => alarms.push(Alarm::Failed { run, attempts, reason }),
            RunEvent::Park => alarms.push(Alarm::Parked { run, attempts, reason }),
            RunEvent::Succeed => alarms.extend(self.success.iter().flat_map(|success| self.succeeded(success, definition))),
            _ => {}
        }
        if matches!(self.event, RunEvent::Succeed | RunEvent::EndFailed)
            && let Some(due) = self.finish_by.filter(|_| self.is_late(now))
        {
            alarms.push(Alarm::LateFinish { run: self.run.clone(), due });
        }
        alarms
    }

    fn succeeded(&self, success: &Success, definition: &JobDefinition) -> Vec<Alarm> {
        let Success { worked, failures, was_silent } = *success;
        let run = || self.run.clone();
        let short = definition.runs_at_least.filter(|least| worked < *least);
        let short = short.map(|at_least| Alarm::TooShort { run: run(), worked, at_least });
        let back = failures > 0 || was_silent;
        let back = back.then(|| Alarm::Recovered { run: run(), slot: self.slot, failures, was_silent });
        short.into_iter().chain(back).collect()
    }
}

impl JobDefinition {
    /// The messages that a move of a run of its puts.
    pub fn told_of(&self, job: &JobId, moved: &RunMoved, now: Moment) -> Vec<Told> {
        let alarms = moved.alarms(self, now);
        let ping = self.ping.as_ref().and_then(|ping| ping.message(&self.name, moved, now));
        let ping = ping.map(|message| Told { message, is_failure: false });
        alarms.iter().filter_map(|alarm| self.told(job, alarm, now)).chain(ping).collect()
    }

    /// The message that tells `alarm`, if somebody wants to know.
    pub fn told(&self, job: &JobId, alarm: &Alarm, now: Moment) -> Option<Told> {
        let message = self.notify.as_ref()?.message(job, &self.name, alarm, now)?;
        Some(Told { message, is_failure: alarm.kind().is_failure() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::alarm::{AlarmKind, Notify};

    const NOW: Moment = Moment::from_micros(1_795_978_800_000_000);
    const MINUTE: Duration = Duration::from_secs(60);

    fn moved(event: RunEvent, finish_by: Option<Moment>) -> RunMoved {
        RunMoved { run: RunId::from_text("backup-1"), slot: None, attempts: 1, event, reason: None, finish_by, success: None }
    }

    fn kinds(moved: &RunMoved, definition: &JobDefinition) -> Vec<AlarmKind> {
        moved.alarms(definition, NOW).iter().map(Alarm::kind).collect()
    }

    #[test]
    fn a_run_tells_of_its_end_in_a_failure_of_parking_and_of_being_late() {
        let job = JobDefinition::new("backup");
        let missed = Some(Moment::from_micros(NOW.micros() - 1));
        let kinds = |event, due| kinds(&moved(event, due), &job);
        assert_eq!(kinds(RunEvent::EndFailed, None), [AlarmKind::Failed]);
        assert_eq!(kinds(RunEvent::EndFailed, missed), [AlarmKind::Failed, AlarmKind::LateFinish]);
        assert_eq!(kinds(RunEvent::Succeed, missed), [AlarmKind::LateFinish]);
        assert_eq!(kinds(RunEvent::Succeed, Some(NOW)), [], "in time");
        assert_eq!(kinds(RunEvent::Park, missed), [AlarmKind::Parked], "the scheduler looks after what is still open");
        assert_eq!(kinds(RunEvent::EndCancelled, missed), [], "a person ended it");
    }

    #[test]
    fn a_success_is_too_short_below_its_span_and_a_recovery_after_what_was_told() {
        let job = JobDefinition { runs_at_least: Some(MINUTE), ..JobDefinition::new("backup") };
        let kinds = |success: Success| {
            let moved = RunMoved { success: Some(success), ..moved(RunEvent::Succeed, None) };
            kinds(&moved, &job)
        };
        let worked = |worked| Success { worked, ..Success::default() };
        assert_eq!(kinds(worked(MINUTE)), [], "at least means at least");
        assert_eq!(kinds(worked(MINUTE - Duration::from_micros(1))), [AlarmKind::TooShort]);
        assert_eq!(kinds(Success { failures: 2, ..worked(MINUTE) }), [AlarmKind::Recovered]);
        assert_eq!(kinds(Success { was_silent: true, ..worked(MINUTE) }), [AlarmKind::Recovered]);
    }

    #[test]
    fn a_success_needs_its_definition_only_where_it_may_tell_something() {
        assert!(!moved(RunEvent::Succeed, None).may_tell(false, NOW));
        assert!(moved(RunEvent::Succeed, None).may_tell(true, NOW));
        assert!(moved(RunEvent::Succeed, Some(NOW - MINUTE)).may_tell(false, NOW));
        assert!(moved(RunEvent::Park, None).may_tell(false, NOW) && !moved(RunEvent::Admit, None).may_tell(true, NOW));
    }

    #[test]
    fn only_failures_that_are_told_count_for_a_recovery() {
        let told = |on: &[AlarmKind], event| {
            let mut job = JobDefinition::new("backup");
            job.notify = Some(Notify::new("ops", on.iter().copied()));
            let told = job.told_of(&JobId::of_name("backup"), &moved(event, Some(NOW - MINUTE)), NOW);
            told.iter().map(|told| told.is_failure).collect::<Vec<_>>()
        };
        assert_eq!(told(&[AlarmKind::Failed, AlarmKind::LateFinish], RunEvent::EndFailed), [true, false]);
        assert_eq!(told(&[AlarmKind::Parked], RunEvent::Park), [true]);
        assert_eq!(told(&[AlarmKind::LateFinish], RunEvent::EndFailed), [false]);
    }
}
