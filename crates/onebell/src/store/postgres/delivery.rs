//! Closing steps that put messages, when none of those is open any longer. The Relay never does it: it has no such verb.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Record, stamp, values};
use super::error::Outcome;
use super::run_graph::{self, Subject};
use super::statements as sql;
use super::transaction::Tx;
use crate::model::job::OnMessageFailed;
use crate::model::step::{AttemptOutcome, StepEvent, StepStatus};
use crate::model::{Moment, RunId};

/// Steps that look as if they could be closed, by run.
pub(super) async fn closable(tx: &Tx, limit: i64) -> Outcome<BTreeMap<RunId, Vec<String>>> {
    let mut steps: BTreeMap<RunId, Vec<String>> = BTreeMap::new();
    for row in tx.rows(&sql::READ_CLOSABLE_STEPS, values![limit]).await? {
        steps.entry(RunId::from_text(row.get::<&str>("run_id")?)).or_default().push(row.get("step_id")?);
    }
    Ok(steps)
}

/// Closes steps of one run, under its lock. How many moved.
pub(super) async fn close(tx: &Tx, run: &RunId, steps: &[String]) -> Outcome<u32> {
    let runs = run_graph::lock(tx, [run]).await?;
    let (id, steps) = (run.as_str(), steps.to_vec());
    let locked = tx.rows(&sql::LOCK_DELIVERING_STEPS, values![steps, id]).await?;
    tx.rows(&sql::LOCK_ENDED_MESSAGES, values![steps]).await?;
    let mut deliveries = BTreeMap::new();
    for row in tx.rows(&sql::READ_DELIVERIES, values![steps]).await? {
        deliveries.insert(row.get::<String>("step_id")?, Delivery::read(&row)?);
    }
    let now = tx.now().await?;
    let mut moves = Moves::default();
    for row in &locked {
        let delivery = deliveries.remove(row.get::<&str>("step_id")?).unwrap_or_default();
        moves.add(row, &delivery)?;
    }
    moves.write(tx, now).await?;
    let subjects: Vec<Subject> = runs.into_values().map(Subject::as_it_stands).collect();
    if moves.count() > 0 {
        run_graph::advance(tx, now, &subjects).await?;
    }
    Ok(moves.count())
}

/// How the messages of a step stand.
#[derive(Debug, Default)]
struct Delivery {
    open: u64,
    in_doubt: u64,
    failed: u64,
}

impl Delivery {
    fn read(row: &Record) -> Outcome<Self> {
        Ok(Self { open: row.number("open")?, in_doubt: row.number("in_doubt")?, failed: row.number("failed")? })
    }

    /// A doubt goes before a failure: it is a person's to decide first.
    fn event(&self, on_failed: OnMessageFailed) -> Option<StepEvent> {
        match self {
            Self { open: 1.., .. } => None,
            Self { in_doubt: 1.., .. } => Some(StepEvent::DeliveryInDoubt),
            Self { failed: 1.., .. } if on_failed == OnMessageFailed::Fail => Some(StepEvent::DeliveryFailed),
            _ => Some(StepEvent::Delivered),
        }
    }
}

/// Steps by where they go.
#[derive(Debug, Default)]
struct Moves {
    close: Vec<String>,
    close_was: Vec<&'static str>,
    fail: Vec<String>,
    fail_was: Vec<&'static str>,
    hold: Vec<String>,
    failed: u64,
}

impl Moves {
    fn add(&mut self, row: &Record, delivery: &Delivery) -> Outcome<()> {
        let status = row.word("status", StepStatus::from_word)?;
        let on_failed = row.word("on_message_failed", OnMessageFailed::from_word)?;
        if !row.get::<bool>("delivered")? {
            return Ok(());
        }
        let step: String = row.get("step_id")?;
        let to = delivery.event(on_failed).and_then(|event| status.on(event));
        match to {
            Some(StepStatus::Succeeded) => {
                self.close.push(step);
                self.close_was.push(status.as_str());
            }
            Some(StepStatus::Failed) => {
                self.fail.push(step);
                self.fail_was.push(status.as_str());
                self.failed += delivery.failed;
            }
            Some(StepStatus::Held) => self.hold.push(step),
            _ => {}
        }
        Ok(())
    }

    fn count(&self) -> u32 {
        let steps: BTreeSet<&String> = self.close.iter().chain(&self.fail).chain(&self.hold).collect();
        u32::try_from(steps.len()).unwrap_or(u32::MAX)
    }

    async fn write(&self, tx: &Tx, now: Moment) -> Outcome<()> {
        let now = stamp(now);
        if !self.close.is_empty() {
            let (outcome, summary) = (AttemptOutcome::Succeeded.as_str(), "its messages are delivered");
            let values = values![now, self.close, self.close_was, outcome, summary];
            tx.execute_all(&sql::CLOSE_STEPS, values, self.close.len()).await?;
        }
        if !self.fail.is_empty() {
            let outcome = AttemptOutcome::Failed.as_str();
            let error = format!("messages that failed: {}", self.failed);
            let values = values![now, self.fail, self.fail_was, outcome, error];
            tx.execute_all(&sql::FAIL_STEPS, values, self.fail.len()).await?;
        }
        if !self.hold.is_empty() {
            tx.execute_all(&sql::HOLD_STEPS, values![now, self.hold], self.hold.len()).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_for_open_messages_then_for_doubts_and_only_then_for_failures() {
        let event = |open, in_doubt, failed, policy| Delivery { open, in_doubt, failed }.event(policy);
        assert_eq!(event(1, 1, 1, OnMessageFailed::Fail), None);
        assert_eq!(event(0, 1, 1, OnMessageFailed::Fail), Some(StepEvent::DeliveryInDoubt));
        assert_eq!(event(0, 0, 1, OnMessageFailed::Fail), Some(StepEvent::DeliveryFailed));
        assert_eq!(event(0, 0, 1, OnMessageFailed::Continue), Some(StepEvent::Delivered));
        assert_eq!(event(0, 0, 0, OnMessageFailed::Fail), Some(StepEvent::Delivered));
    }
}
