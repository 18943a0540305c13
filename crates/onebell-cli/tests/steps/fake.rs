//! A store that answers what a test told it to, and an attempt over it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{AttemptOf, Context, Done, Outcome, Stop, Stopper, Vouch};
use onebell::model::{Claim, Moment, ReplicaId, RunId, StepDefinition};
use onebell::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement, StoreError};
use onebell::time::{SystemTimer, Timer};
use tokio::sync::watch;

#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) rows: BTreeMap<String, String>,
    pub(crate) query: Option<String>,
    /// The store does not answer.
    pub(crate) away: bool,
    pub(crate) superseded: bool,
    pub(crate) extended: AtomicU32,
    /// What has come back, until it is taken.
    pub(crate) callback: Mutex<Option<String>>,
}

impl Fake {
    pub(crate) fn rows(step: &str, rows: &str) -> Self {
        Self { rows: BTreeMap::from([(step.to_owned(), rows.to_owned())]), ..Self::default() }
    }

    fn answer(&self) -> Result<()> {
        if self.away { Err(StoreError::away("no connection")) } else { Ok(()) }
    }
}

#[async_trait]
impl AgentStore for Fake {
    async fn claim_steps(&self, _: &ClaimSteps) -> Result<ClaimAnswer> {
        panic!("a handler claims nothing")
    }
    async fn held_steps(&self, _: &ReplicaId) -> Result<Vec<ClaimedStep>> {
        panic!("a handler claims nothing")
    }
    async fn start_steps(&self, _: &[Claim]) -> Result<Vec<bool>> {
        panic!("a handler starts nothing")
    }
    async fn extend_step(&self, claim: &Claim) -> Result<Extension> {
        self.answer()?;
        assert_eq!(claim.attempt(), 3);
        self.extended.fetch_add(1, Ordering::SeqCst);
        Ok(if self.superseded { Extension::Superseded } else { Extension::Extended(Moment::from_micros(1)) })
    }
    async fn settle_steps(&self, _: Vec<Settlement>) -> Result<Vec<Settled>> {
        panic!("a handler settles nothing")
    }
    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>> {
        self.answer()?;
        assert_eq!(run.as_str(), "j-20261129T190000Z");
        Ok(self.rows.get(step).cloned())
    }
    async fn take_callback(&self, _: &Claim) -> Result<Option<String>> {
        self.answer()?;
        Ok(self.callback.lock().expect("nobody panicked").take())
    }
    async fn query_rows(&self, _: &str) -> Result<String> {
        self.answer()?;
        self.query.clone().ok_or_else(|| StoreError::broken("no such table: debts"))
    }
}

/// An attempt and the hands on it.
pub(crate) struct Attempt {
    pub(crate) context: Context,
    pub(crate) stopper: Stopper,
    pub(crate) vouch: watch::Sender<Vouch>,
}

/// A vouching that was renewed just now.
pub(crate) fn vouch(term_after: Duration, kill_after: Duration) -> Vouch {
    Vouch { renewed_at: SystemTimer.elapsed(), term_after, kill_after }
}

/// Attempt 3 of `step` in the run `j-20261129T190000Z`.
pub(crate) fn attempt(step: &StepDefinition, store: &Arc<Fake>) -> Attempt {
    let (stopper, stop): (Stopper, Stop) = Stopper::new();
    let (sender, receiver) = watch::channel(vouch(Duration::from_secs(60), Duration::from_secs(62)));
    let of = AttemptOf {
        job: "j".into(),
        run: RunId::from_text("j-20261129T190000Z"),
        scheduled_for: Some("2026-11-29T19:00:00Z".parse().expect("an instant")),
        input: Some(r#"{"limit": 10}"#.into()),
        attempt: 3,
        claimed_at: "2026-11-29T19:00:01Z".parse().expect("an instant"),
    };
    let context = Context::for_store(Arc::clone(store) as Arc<dyn AgentStore>, step, &of, stop, receiver);
    Attempt { context, stopper, vouch: sender }
}

pub(crate) fn done(outcome: Outcome) -> Done {
    match outcome {
        Outcome::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn failed(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed { error, .. } => error,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn retried(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retry { error, .. } => error,
        other => panic!("{other:?}"),
    }
}
