//! One attempt from its start to its settlement.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::watch;

use super::{Agent, settlement};
use crate::handler::{Context, Done, Outcome, Stop, StopReason, Stopper};
use crate::model::alarm::KEY_PREFIX;
use crate::model::step::Verdict;
use crate::store::{ClaimedStep, Settled, Settlement, StepOutput};

/// How long a handler that was asked to end may take before its future is dropped.
const STOP_GRACE: Duration = Duration::from_secs(30);
/// Between two calls while the store is away.
const STORE_PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn attend(
    agent: Agent,
    step: Arc<ClaimedStep>,
    stopper: Stopper,
    stop: Stop,
    asked: Duration,
) -> Option<Settled> {
    let begun = if step.started { Some(asked) } else { start(&agent, &step).await };
    let Some(begun) = begun else {
        return Some(Settled::Superseded);
    };
    if !may_begin(&agent, &stop, begun + step.timeout) {
        return settle(&agent, settlement(&step, Verdict::GivenBack, StepOutput::default())).await;
    }
    let outcome = run(&agent, &step, &stopper, &stop, Clocked { claimed: asked, begun }).await;
    let settlement = conclude(&step, outcome, stop.reason());
    if let Verdict::Failed { error } | Verdict::Retry { error, .. } = &settlement.verdict {
        tracing::info!(step = %step.claim.step(), attempt = step.claim.attempt(), error, "the attempt did not succeed");
    }
    settle(&agent, settlement).await
}

/// The store may have answered so late that the claim has lapsed, that nobody vouches for the work any longer, or that all work
/// was asked to end before this was in hand: then it is not even begun.
fn may_begin(agent: &Agent, stop: &Stop, lapses: Duration) -> bool {
    let now = agent.timer.elapsed();
    stop.reason().is_none() && now < lapses && agent.vouch.borrow().is_fresh(now)
}

/// By the replica's own monotonic clock.
#[derive(Clone, Copy)]
struct Clocked {
    claimed: Duration,
    begun: Duration,
}

/// Marks a prefetched step as started: when its clock began, or nothing if its claim did not hold.
async fn start(agent: &Agent, step: &ClaimedStep) -> Option<Duration> {
    loop {
        let asked = agent.timer.elapsed();
        match agent.store.start_steps(std::slice::from_ref(&step.claim)).await {
            Ok(held) => return held.first().copied().unwrap_or(false).then_some(asked),
            Err(error) if error.is_passing() => agent.timer.sleep(STORE_PAUSE).await,
            Err(error) => {
                tracing::error!(step = %step.claim.step(), %error, "a claimed step could not be started");
                return None;
            }
        }
    }
}

/// Runs the handler until it ends, or until it was asked to end and its grace ran out.
async fn run(agent: &Agent, step: &Arc<ClaimedStep>, stopper: &Stopper, stop: &Stop, at: Clocked) -> Outcome {
    let Some(handler) = agent.handlers.get(&step.handler).cloned() else {
        return Outcome::retry(format!("no handler named {:?} here", step.handler));
    };
    let (extended, deadline) = watch::channel(at.begun.saturating_sub(at.claimed) + step.timeout);
    let context = Context::new(Arc::clone(step), Arc::clone(&agent.store), stop.clone(), agent.vouch.clone(), extended);
    let work = AssertUnwindSafe(async move { handler.run(context).await }).catch_unwind();
    let limit = async {
        let overdue = overdue(agent, at.claimed, deadline);
        let asked = stop.requested();
        if let Either::Left(_) = select(std::pin::pin!(overdue), std::pin::pin!(asked)).await {
            stopper.stop(StopReason::Deadline);
        }
        agent.timer.sleep(STOP_GRACE).await;
    };
    match select(std::pin::pin!(work), std::pin::pin!(limit)).await {
        Either::Left((Ok(outcome), _)) => outcome,
        Either::Left((Err(panic), _)) => Outcome::retry(format!("the handler panicked: {}", text_of(panic.as_ref()))),
        Either::Right(_) => Outcome::Stopped { output: StepOutput::default() },
    }
}

/// Returns when the claim has lapsed by the replica's own monotonic clock, progress included.
async fn overdue(agent: &Agent, claimed: Duration, deadline: watch::Receiver<Duration>) {
    loop {
        let left = (claimed + *deadline.borrow()).saturating_sub(agent.timer.elapsed());
        if left.is_zero() {
            return;
        }
        agent.timer.sleep(left).await;
    }
}

fn conclude(step: &ClaimedStep, outcome: Outcome, reason: Option<StopReason>) -> Settlement {
    match outcome {
        Outcome::Done(done) if takes_an_alarms_key(&done) => {
            let error = format!("a message's key begins with {KEY_PREFIX:?}, as alarms of Onebell's own do; choose another key");
            settlement(step, Verdict::Failed { error }, done.output)
        }
        Outcome::Done(done) => Settlement {
            claim: step.claim.clone(),
            verdict: Verdict::Succeeded,
            effects: done.effects,
            messages: done.messages,
            work: done.work,
            output: done.output,
        },
        Outcome::Failed { error, output } => settlement(step, Verdict::Failed { error }, output),
        Outcome::Retry { error, after, output } => settlement(step, unfinished(reason, error, after), output),
        Outcome::Stopped { output } => settlement(step, unfinished(reason, "the handler gave up".to_owned(), None), output),
        Outcome::Unvouched { output } => {
            let reason = reason.unwrap_or(StopReason::OwnStop);
            settlement(step, unfinished(Some(reason), String::new(), None), output)
        }
    }
}

fn takes_an_alarms_key(done: &Done) -> bool {
    done.messages.iter().any(|message| message.key.as_str().starts_with(KEY_PREFIX))
}

/// What an attempt that did not finish means, by why it was asked to end.
fn unfinished(reason: Option<StopReason>, error: String, after: Option<Duration>) -> Verdict {
    match reason {
        None => Verdict::Retry { error, after },
        Some(StopReason::Deadline) => {
            Verdict::Retry { error: "timed out: complete-by passed without an end or progress".to_owned(), after: None }
        }
        Some(StopReason::Cancelled) => Verdict::Cancelled,
        Some(StopReason::OwnStop) => {
            Verdict::Stopped { error: "its replica ended it: it was shutting down, or could no longer vouch for it".to_owned() }
        }
        Some(StopReason::Superseded) => Verdict::Stopped { error: "its claim was somebody else's".to_owned() },
    }
}

/// Settles until the store answers: an acknowledgement is never lost to a failed call. The fence decides, not the time.
async fn settle(agent: &Agent, settlement: Settlement) -> Option<Settled> {
    loop {
        match agent.store.settle_steps(vec![settlement.clone()]).await {
            Ok(mut settled) => return settled.pop(),
            Err(error) if error.is_passing() => agent.timer.sleep(STORE_PAUSE).await,
            Err(error) => {
                tracing::error!(step = %settlement.claim.step(), %error, "an attempt could not be settled");
                return None;
            }
        }
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
