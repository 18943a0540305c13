//! What happened to one thing, in order: from the history, the outbox, recovery requests, replica rows, receivers and chaos's log.

use std::collections::BTreeSet;
use std::time::Duration;

use onebell::model::Moment;
use onebell::store::MessageView;

use super::evidence::Evidence;
use super::receivers::receipt_id;

/// More lines than this tell nobody anything.
const LINES: usize = 60;

/// Collected lines with their instants.
#[derive(Default)]
struct Lines {
    at: Vec<(Moment, String)>,
    replicas: BTreeSet<String>,
}

impl Lines {
    fn add(&mut self, at: Moment, what: String) {
        self.at.push((at, what));
    }

    fn add_some(&mut self, at: Option<Moment>, what: String) {
        self.at.extend(at.map(|at| (at, what)));
    }

    /// In order, with what became of the replicas that had a hand in it.
    fn told(mut self, evidence: &Evidence) -> Vec<String> {
        let own = |name: &str| self.replicas.contains(name);
        // What became of them long after has nothing to do with it.
        let last = self.at.iter().map(|(at, _)| *at).max().unwrap_or_default() + Duration::from_secs(2);
        let log = evidence.log.iter().filter(|entry| own(&entry.replica) && entry.at <= last);
        let mut more: Vec<(Moment, String)> = log.map(|entry| (entry.at, format!("{}: {}", entry.replica, entry.what))).collect();
        for replica in &evidence.replicas {
            let name = evidence.name_of(&replica.id);
            if let Some(at) = replica.lost_at.filter(|at| own(name) && *at <= last) {
                more.push((at, format!("{name}: found lost")));
            }
        }
        self.at.append(&mut more);
        self.at.sort();
        self.at.truncate(LINES);
        self.at.into_iter().map(|(at, what)| format!("{at}  {what}")).collect()
    }
}

/// One step.
pub(super) fn of_step(evidence: &Evidence, step: &str) -> Vec<String> {
    let mut lines = Lines::default();
    add_step(evidence, step, &mut lines);
    lines.told(evidence)
}

/// One run with its steps.
pub(super) fn of_run(evidence: &Evidence, run: &str) -> Vec<String> {
    let mut lines = Lines::default();
    for detail in evidence.runs.iter().filter(|detail| detail.run.id == run) {
        lines.add(detail.run.created_at, format!("run {run} opened"));
        lines.add_some(detail.run.finished_at, format!("run {run} {}", detail.run.status));
        detail.steps.iter().for_each(|step| add_step(evidence, &step.id, &mut lines));
    }
    lines.told(evidence)
}

/// One message.
pub(super) fn of_message(evidence: &Evidence, message: &MessageView) -> Vec<String> {
    let mut lines = Lines::default();
    let key = &message.key;
    let id = receipt_id(message);
    lines.add(message.created_at, format!("message {key:?} put by {}", message.step.as_deref().unwrap_or("?")));
    lines.add_some(message.sending_at, format!("sending committed, attempt {}", message.attempt));
    for receipt in evidence.receipts.iter().filter(|receipt| receipt.id == id) {
        lines.replicas.insert(receipt.replica.clone());
        lines.add(receipt.at, format!("accepted by the receiver, from {}", receipt.replica));
    }
    let note = message.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
    lines.add_some(message.finished_at, format!("{}{note}", message.status));
    add_requests(evidence, key, &mut lines);
    lines.told(evidence)
}

/// What chaos did about that time.
pub(super) fn around(evidence: &Evidence, at: Moment) -> Vec<String> {
    let near = Duration::from_secs(3);
    let log = evidence.log.iter().filter(|entry| entry.at >= at - near && entry.at <= at + near);
    log.take(LINES).map(|entry| format!("{}  {}: {}", entry.at, entry.replica, entry.what)).collect()
}

fn add_step(evidence: &Evidence, step: &str, lines: &mut Lines) {
    for detail in evidence.runs.iter().flat_map(|run| &run.steps).filter(|detail| detail.id == step) {
        for attempt in &detail.attempts {
            let name = attempt.replica.as_deref().map(|id| evidence.name_of(id)).unwrap_or("nobody");
            lines.replicas.insert(name.to_owned());
            lines.add_some(attempt.claimed_at, format!("{step}: attempt {} claimed by {name}", attempt.attempt));
            let error = attempt.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
            lines.add(attempt.ended_at, format!("{step}: attempt {} {}{error}", attempt.attempt, attempt.outcome));
        }
    }
    for execution in evidence.executions.iter().filter(|execution| execution.step_id == step) {
        lines.replicas.insert(execution.replica.clone());
        let (attempt, replica) = (execution.attempt, &execution.replica);
        lines.add(execution.began, format!("{step}: attempt {attempt} at work on {replica} (process {})", execution.pid));
        let how = execution.code.map_or_else(|| "ended from outside".to_owned(), |code| format!("ended with {code}"));
        lines.add_some(execution.ended, format!("{step}: attempt {attempt} {how}"));
    }
    for effect in evidence.effects.iter().filter(|effect| effect.step_id == step) {
        lines.add(effect.at, format!("{step}: attempt {} had the effect {:?}", effect.attempt, effect.key));
    }
    add_requests(evidence, step, lines);
}

fn add_requests(evidence: &Evidence, id: &str, lines: &mut Lines) {
    for request in evidence.recoveries.iter().filter(|request| request.id == id) {
        let asked = evidence.name_of(request.requested_by.as_str());
        lines.add(
            request.requested_at,
            format!("recovery of attempt {} asked for by {asked}: {}", request.attempt, request.reason),
        );
        lines.add_some(request.granted_at, format!("recovery of attempt {} granted", request.attempt));
    }
}
