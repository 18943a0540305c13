//! A person's word on a run, a step or a message. The tables of the model say what it may do.

use super::define::audit;
use super::new_steps::{redeliver, reopen};
use super::outbox::MessageRow;
use super::run_graph::{Node, RunGraph};
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use crate::model::RunId;
use crate::model::job::UNDO_MARK;
use crate::model::message::MessageEvent;
use crate::model::run::{RunEvent, RunStatus};
use crate::model::step::{AttemptOutcome, StepEvent, StepStatus};
use crate::store::{Acted, Actor, MessageVerdict, Resolution};

/// `queued, running, parked → cancelling` and what follows.
pub(super) fn cancel_run(tx: &Tx<'_>, run: &RunId, actor: &Actor) -> Outcome<Acted> {
    let Some(mut graph) = RunGraph::locked(tx, run)? else { return Ok(Acted::NotFound) };
    if graph.row.status.on(RunEvent::Cancel).is_none() {
        return Ok(not_now(format!("the run is {}; a queued, running or parked one can be cancelled", graph.row.status)));
    }
    if graph.row.goal.is_some() {
        return Ok(not_now("the run is already being undone; decide its parked undo step instead".to_owned()));
    }
    let why = actor.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    graph.cancel(tx, &format!("cancelled by {}{why}", actor.name))?;
    audit(tx, actor, "cancel", run.as_str(), None)?;
    Ok(Acted::Done)
}

/// New budgets for a parked run; a failed one is queued again, if no undo began.
pub(super) fn retry_run(tx: &Tx<'_>, run: &RunId, actor: &Actor) -> Outcome<Acted> {
    let Some(mut graph) = RunGraph::locked(tx, run)? else { return Ok(Acted::NotFound) };
    match graph.row.status {
        RunStatus::Parked => {
            let undoing = graph.row.goal.is_some();
            for node in graph.nodes.iter().filter(|node| is_undo(node) == undoing) {
                grant_budget(tx, node)?;
            }
            // The graph was read before the budgets were written.
            if let Some(mut graph) = RunGraph::locked(tx, run)? {
                graph.advance(tx)?;
            }
        }
        RunStatus::Failed if graph.undo_began() => {
            return Ok(not_now("its finished steps were undone; trigger a new run instead".to_owned()));
        }
        RunStatus::Failed => {
            for node in &graph.nodes {
                grant_budget(tx, node)?;
            }
            let cancelled: Vec<&Node> = graph.nodes.iter().filter(|node| node.view.status == StepStatus::Cancelled).collect();
            reopen(tx, &graph.row, &cancelled)?;
            tx.execute(S::ReviveRunMessages, &[("run", run), ("now", &tx.now)])?;
            tx.execute(S::KeepRunMessages, &[("run", run), ("now", &tx.now)])?;
            redeliver(tx, &graph.row)?;
            graph.row.go(tx, RunEvent::Retry, RunStatus::Queued, None, None)?;
        }
        other => return Ok(not_now(format!("the run is {other}; a parked or failed one can be retried"))),
    }
    audit(tx, actor, "retry", run.as_str(), None)?;
    Ok(Acted::Done)
}

/// Decides an exhausted, held or failed step of an open run.
pub(super) fn resolve_step(tx: &Tx<'_>, run: &RunId, name: &str, resolution: Resolution, actor: &Actor) -> Outcome<Acted> {
    let Some(graph) = RunGraph::locked(tx, run)? else { return Ok(Acted::NotFound) };
    let Some(node) = graph.node(name) else { return Ok(Acted::NotFound) };
    if let Some(reason) = why_not(&graph, node, resolution) {
        return Ok(not_now(reason));
    }
    let Some(step) = tx.first(S::ReadOpenStep, &[("step", &node.id)], StepRow::read)? else { return Ok(Acted::NotFound) };
    match resolution {
        Resolution::Retry => grant_budget(tx, node)?,
        Resolution::Succeeded => {
            step.close(tx, StepEvent::ResolveSucceeded, AttemptOutcome::Resolved, None)?;
        }
        Resolution::Failed => {
            let error = actor.reason.as_deref().unwrap_or("a person says that it failed");
            step.close(tx, StepEvent::ResolveFailed, AttemptOutcome::Resolved, Some(error))?;
        }
    }
    if let Some(mut graph) = RunGraph::locked(tx, run)? {
        graph.advance(tx)?;
    }
    audit(tx, actor, "resolve-step", node.id.as_str(), Some(resolution.as_str()))?;
    Ok(Acted::Done)
}

/// Why a step cannot be decided now.
fn why_not(graph: &RunGraph, node: &Node, resolution: Resolution) -> Option<String> {
    let (run, step) = (graph.row.status, node.view.status);
    let event = match resolution {
        Resolution::Succeeded => StepEvent::ResolveSucceeded,
        Resolution::Failed => StepEvent::ResolveFailed,
        Resolution::Retry => StepEvent::Budget,
    };
    if run.is_over() {
        return Some(format!("the run is {run}; only steps of an open run can be decided"));
    }
    if step.is_done() || step.on(event).is_none() {
        return Some(format!("the step is {step}; an exhausted, held or failed one can be decided"));
    }
    if step == StepStatus::Failed && run != RunStatus::Parked {
        return Some(format!(
            "the step is failed and its run is {run}; a failed step can be decided only while its run is parked"
        ));
    }
    (resolution != Resolution::Failed && is_undo(node) != graph.row.goal.is_some())
        .then(|| "the run is already ending; only its undo steps can be decided so".to_owned())
}

/// A new budget for a step that waits for a person; the others are left as they are.
fn grant_budget(tx: &Tx<'_>, node: &Node) -> Outcome<()> {
    if node.view.status.on(StepEvent::Budget).is_some() {
        tx.execute(S::BudgetSteps, &[("step", &node.id), ("now", &tx.now)])?;
    }
    Ok(())
}

/// Decides a message.
pub(super) fn resolve_message(tx: &Tx<'_>, key: &str, verdict: MessageVerdict, actor: &Actor) -> Outcome<Acted> {
    let Some(row) = MessageRow::locked(tx, key)? else { return Ok(Acted::NotFound) };
    let (event, statement, allowed) = match verdict {
        MessageVerdict::Sent => (MessageEvent::ResolveSent, S::ResolveMessages, "one in doubt can be called sent"),
        MessageVerdict::Resend => (MessageEvent::Resend, S::ResendMessages, "one in doubt or failed can be sent again"),
        MessageVerdict::Drop => (MessageEvent::Drop, S::DropMessages, "one that is ready, failed or in doubt can be dropped"),
    };
    if row.status.on(event).is_none() {
        return Ok(not_now(format!("the message is {}; {allowed}", row.status)));
    }
    tx.execute(statement, &[("key", &key), ("now", &tx.now), ("anew", &true)])?;
    audit(tx, actor, "resolve-message", key, Some(verdict.as_str()))?;
    Ok(Acted::Done)
}

fn is_undo(node: &Node) -> bool {
    node.view.name.ends_with(UNDO_MARK)
}

fn not_now(reason: String) -> Acted {
    Acted::NotNow(reason)
}
