//! The handlers of a history. They yield between their sub-steps, so that anything may happen to them anywhere.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Context, Done, Handler, Outcome};
use onebell::model::message::{InDoubtPolicy, NewMessage};
use onebell::model::{Effect, Fingerprint, Key};
use onebell::store::{StepOutput, Work};
use onebell::time::{ManualTimer, Timer};
use serde_json::Value;

use crate::executor::turn;
use crate::ground::Ground;
use crate::jobs::{HOOK, MAIL, UNDO, retry};

/// Works as the step's spec says, and as chance has it.
pub struct Worker {
    /// What all share.
    pub ground: Arc<Ground>,
    /// Of its replica.
    pub timer: Arc<ManualTimer>,
}

#[async_trait]
impl Handler for Worker {
    async fn run(&self, context: Context) -> Outcome {
        let claim = &context.step().claim;
        self.ground.inner().shadow.begins(claim.step().as_str(), claim.attempt());
        self.ground.note(|| format!("{} works on {} #{}", claim.replica(), claim.step(), claim.attempt()));
        let spec: Value = serde_json::from_str(&context.step().spec).unwrap_or_default();
        let outcome = match self.toil(&context, &spec).await {
            Some(ended) => ended,
            None => self.end(&context, &spec),
        };
        self.ground.note(|| format!("{} #{}: {}", claim.step(), claim.attempt(), word(&outcome)));
        outcome
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Retry { .. } => "retry",
        Outcome::Failed { .. } => "failed",
        Outcome::Stopped { .. } | Outcome::Unvouched { .. } => "stopped",
    }
}

fn wants(spec: &Value, what: &str) -> bool {
    spec.get(what).and_then(Value::as_bool).unwrap_or(false)
}

fn stopped() -> Outcome {
    Outcome::Stopped { output: StepOutput::default() }
}

impl Worker {
    /// The work itself: some turns, some time, some progress. None: it came to its end by itself.
    async fn toil(&self, context: &Context, spec: &Value) -> Option<Outcome> {
        let stages = self.ground.inner().dice.below(if wants(spec, "long") { 9 } else { 4 });
        for _ in 0..stages {
            let (kind, span, trouble) = {
                let mut inner = self.ground.inner();
                (inner.dice.below(5), inner.dice.below(3_000), inner.trouble.work)
            };
            match kind {
                0 => turn().await,
                1 | 2 => self.timer.sleep(Duration::from_millis(span)).await,
                _ => drop(context.progress().await),
            }
            if self.ground.chance(trouble / 12) {
                let reason = context.stop().requested().await;
                self.ground.note(|| format!("{} was asked to stop: {reason:?}", context.idempotency_key()));
                if self.ground.chance(500) {
                    std::future::pending::<()>().await;
                }
                return Some(stopped());
            }
            if context.stop().reason().is_some() && self.ground.chance(400) {
                return Some(stopped());
            }
        }
        None
    }

    fn end(&self, context: &Context, spec: &Value) -> Outcome {
        let (drawn, trouble, span) = {
            let mut inner = self.ground.inner();
            (inner.dice.below(1000), inner.trouble.work, inner.dice.below(5))
        };
        let failing = if wants(spec, "fails") { trouble * 2 } else { trouble / 4 };
        if drawn < failing {
            return Outcome::failed("as chance had it");
        }
        if drawn < failing + trouble {
            let after = (span > 2).then(|| Duration::from_secs(span));
            return Outcome::Retry { error: "not now".to_owned(), after, output: StepOutput::default() };
        }
        Outcome::Done(self.done(context, spec, drawn >= 1000 - trouble / 8))
    }

    fn done(&self, context: &Context, spec: &Value, refused: bool) -> Done {
        let step = context.idempotency_key();
        let number = context.step().claim.run().as_str().bytes().fold(0_u64, |sum, byte| sum * 31 % 1_009 + u64::from(byte));
        let amount = if context.step().handler == UNDO { -100 } else { 100 };
        let mut done = Done::default();
        let mut effect =
            |scope: &str, key: &str, amount, payload: String| done.effects.extend(effect(scope, key, amount, &payload));
        if wants(spec, "own") {
            effect("sum", step, Some(amount), format!("{{\"step\":\"{step}\"}}"));
        }
        if wants(spec, "shared") {
            effect("shared", &format!("k{}", number % 4), None, "{\"same\":1}".to_owned());
        }
        if wants(spec, "clash") && number.is_multiple_of(3) {
            effect("clash", "c", None, format!("{{\"n\":{}}}", number % 2));
        }
        if wants(spec, "mail") {
            done.messages.extend(self.message(&format!("mail-{step}"), MAIL, InDoubtPolicy::Hold, step));
        }
        if wants(spec, "hook") {
            done.messages.extend(self.message(&format!("hook-{step}"), HOOK, InDoubtPolicy::Resend, step));
        }
        if wants(spec, "daily") {
            done.messages.extend(self.message(&format!("daily-{}", number % 3), MAIL, InDoubtPolicy::Hold, "the day"));
        }
        if wants(spec, "work") {
            let attempt = if refused { 0 } else { context.attempt() };
            done.work = Some(self.work(step.to_owned(), attempt));
        }
        done
    }

    /// A statement of the step's own, as text or as code.
    fn work(&self, step: String, attempt: u64) -> Work {
        if self.ground.chance(500) {
            return Work::Sql(format!("INSERT INTO sim_work (step, attempt) VALUES ('{step}', {attempt})"));
        }
        self.ground.inner().tally.count("work", "native");
        onebell::store::sqlite::work(move |connection| {
            let attempt = i64::try_from(attempt).unwrap_or(i64::MAX);
            let values: (&str, i64) = (&step, attempt);
            connection.execute("INSERT INTO sim_work (step, attempt) VALUES (?1, ?2)", values).map(drop)
        })
    }

    fn message(&self, key: &str, channel: &str, on_in_doubt: InDoubtPolicy, about: &str) -> Option<NewMessage> {
        let payload = format!("{{\"about\":\"{about}\"}}");
        let identity = format!("{{\"channel\":\"{channel}\",\"payload\":{payload}}}");
        let retry = retry(&mut self.ground.inner().dice);
        Some(NewMessage {
            key: Key::new(key).ok()?,
            channel: channel.to_owned(),
            payload,
            fingerprint: Fingerprint::of_json(&identity).ok()?,
            on_in_doubt,
            retry,
        })
    }
}

fn effect(scope: &str, key: &str, amount: Option<i64>, payload: &str) -> Option<Effect> {
    Effect::new(Key::new(scope).ok()?, Key::new(key).ok()?, amount, payload).ok()
}
