//! People: they trigger, cancel, retry, decide, pause and resume, and repeat themselves when they hear nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use onebell::model::{Key, RunId};
use onebell::roles::scheduler;
use onebell::store::{Actor, MessageVerdict, OperatorStore, Question, Questioned, Resolution, SchedulerStore, Trigger};
use onebell::time::{ManualTimer, Timer};

use crate::executor::Hand;
use crate::faulty::FaultyStore;
use crate::ground::Ground;

/// At a terminal of their own.
pub struct People {
    ground: Arc<Ground>,
    store: Arc<FaultyStore>,
    /// Their clock.
    pub timer: Arc<ManualTimer>,
    hands: Vec<Hand<()>>,
}

/// How often somebody repeats what was not answered.
const TRIES: u32 = 4;

fn somebody() -> Actor {
    Actor { name: "somebody".to_owned(), reason: None }
}

impl People {
    /// Nobody has done anything yet.
    pub fn new(ground: &Arc<Ground>, number: usize) -> Self {
        let timer = Arc::new(ManualTimer::default());
        let store = Arc::new(FaultyStore::new(Arc::clone(ground), Arc::clone(&timer), number));
        Self { ground: Arc::clone(ground), store, timer, hands: Vec::new() }
    }

    /// They hear nothing any more of what they have asked for.
    pub fn leave(&mut self) {
        self.hands.clear();
    }

    /// How many could go on.
    pub fn ready(&self) -> usize {
        self.hands.iter().filter(|hand| hand.is_woken()).count()
    }

    /// Lets one go on.
    pub fn go(&mut self, nth: usize) {
        let place = self.hands.iter().enumerate().filter(|(_, hand)| hand.is_woken()).map(|(place, _)| place).nth(nth);
        if let Some(place) = place
            && self.hands[place].poll().is_some()
        {
            self.hands.remove(place);
        }
    }

    /// Somebody does something.
    pub fn act(&mut self) {
        let kind = self.ground.inner().dice.below(13);
        let act = match kind {
            0..4 => Some(self.trigger()),
            4 => self.a_run(&["queued", "running", "parked"]).map(|run| self.cancel(run)),
            5 => self.a_run(&["parked", "failed"]).map(|run| self.retry(run)),
            6 | 7 => self.a_held_step().map(|(run, step)| self.resolve(run, step)),
            8 | 9 => self.a_message().map(|key| self.decide(key)),
            10 => Some(self.pause()),
            11 => Some(self.backfill()),
            _ => Some(self.resume_all()),
        };
        self.hands.extend(act.map(Hand::new));
    }

    /// Somebody waits, and asks what may have gone on, as after a restore.
    pub fn ask_after(&mut self, span: Duration) {
        let (slots, store) = (self.ground.chance(500), Arc::clone(&self.store));
        let (ground, timer) = (Arc::clone(&self.ground), Arc::clone(&self.timer));
        let ask = async move {
            timer.sleep(span).await;
            let Ok(since) = store.scheduler_now().await else { return };
            if slots {
                drop(scheduler::skip_restored(store.as_ref() as &dyn SchedulerStore, jiff::tz::db()).await);
            }
            for _ in 0..40 {
                match store.question(&Question { since, limit: 3, actor: somebody() }).await {
                    Ok(Questioned::Asked { steps: 0, messages: 0 }) => break,
                    Ok(Questioned::Live { .. }) => {
                        ground.inner().tally.count("asked", "too early");
                        break;
                    }
                    Ok(Questioned::Asked { steps, messages }) => {
                        (0..steps).for_each(|_| ground.inner().tally.count("asked", "step"));
                        (0..messages).for_each(|_| ground.inner().tally.count("asked", "message"));
                    }
                    Err(_) => {}
                }
            }
        };
        self.hands.push(Hand::new(ask.boxed()));
    }

    /// All jobs are paused: planning accounts for every slot up to now and goes no further.
    pub fn pause_all(&mut self) {
        let store = Arc::clone(&self.store);
        let pause = async move {
            for name in ["tick", "mail", "batch", "chain"] {
                while scheduler::pause(store.as_ref() as &dyn SchedulerStore, jiff::tz::db(), name, &somebody()).await.is_err() {}
            }
        };
        self.hands.push(Hand::new(pause.boxed()));
    }

    fn trigger(&self) -> BoxFuture<'static, ()> {
        let (job, key, input) = {
            let mut inner = self.ground.inner();
            (*inner.dice.pick(&["batch", "batch", "chain", "tick"]), inner.dice.below(20), inner.dice.below(6))
        };
        let Ok(key) = Key::new(&format!("request-{key}")) else { return async {}.boxed() };
        let input = (input == 0).then(|| "{\"other\":true}".to_owned());
        let trigger = Trigger { job: job.to_owned(), key, input, actor: somebody() };
        self.ground.note(|| format!("somebody triggers {} by {}", trigger.job, trigger.key));
        let store = Arc::clone(&self.store);
        async move {
            for _ in 0..TRIES {
                if store.trigger(&trigger).await.is_ok() {
                    return;
                }
            }
        }
        .boxed()
    }

    fn a_run(&self, statuses: &[&str]) -> Option<RunId> {
        let mut inner = self.ground.inner();
        let runs: Vec<String> = inner
            .now()
            .runs
            .iter()
            .filter(|(_, run)| statuses.contains(&run.status.as_str()))
            .map(|(key, _)| key.to_owned())
            .collect();
        if runs.is_empty() { None } else { Some(RunId::from_text(inner.dice.pick(&runs).clone())) }
    }

    fn a_held_step(&self) -> Option<(RunId, String)> {
        let mut inner = self.ground.inner();
        let waits = |status: &str| matches!(status, "exhausted" | "held" | "failed");
        let steps: Vec<(String, String)> = inner
            .now()
            .steps
            .iter()
            .filter(|(_, step)| waits(&step.status))
            .map(|(_, step)| (step.run.clone(), step.name.clone()))
            .collect();
        if steps.is_empty() {
            return None;
        }
        let (run, name) = inner.dice.pick(&steps).clone();
        Some((RunId::from_text(run), name))
    }

    fn a_message(&self) -> Option<String> {
        let mut inner = self.ground.inner();
        let waits = |status: &str| matches!(status, "in_doubt" | "failed" | "ready");
        let keys: Vec<String> =
            inner.now().messages.iter().filter(|(_, row)| waits(&row.status)).map(|(key, _)| key.to_owned()).collect();
        if keys.is_empty() { None } else { Some(inner.dice.pick(&keys).clone()) }
    }

    fn cancel(&self, run: RunId) -> BoxFuture<'static, ()> {
        self.ground.note(|| format!("somebody cancels {run}"));
        let store = Arc::clone(&self.store);
        async move { drop(store.cancel_run(&run, &somebody()).await) }.boxed()
    }

    fn retry(&self, run: RunId) -> BoxFuture<'static, ()> {
        self.ground.note(|| format!("somebody retries {run}"));
        let store = Arc::clone(&self.store);
        async move { drop(store.retry_run(&run, &somebody()).await) }.boxed()
    }

    fn resolve(&self, run: RunId, step: String) -> BoxFuture<'static, ()> {
        let resolution = *self.ground.inner().dice.pick(Resolution::ALL);
        self.ground.note(|| format!("somebody says that {step} of {run}: {resolution}"));
        let store = Arc::clone(&self.store);
        async move { drop(store.resolve_step(&run, &step, resolution, &somebody()).await) }.boxed()
    }

    fn decide(&self, key: String) -> BoxFuture<'static, ()> {
        let verdict = *self.ground.inner().dice.pick(MessageVerdict::ALL);
        self.ground.note(|| format!("somebody says that {key}: {verdict}"));
        let store = Arc::clone(&self.store);
        async move { drop(store.resolve_message(&key, verdict, &somebody()).await) }.boxed()
    }

    fn pause(&self) -> BoxFuture<'static, ()> {
        let name = *self.ground.inner().dice.pick(&["tick", "mail", "chain"]);
        self.ground.note(|| format!("somebody pauses {name}"));
        let store = Arc::clone(&self.store);
        async move { drop(scheduler::pause(store.as_ref() as &dyn SchedulerStore, jiff::tz::db(), name, &somebody()).await) }
            .boxed()
    }

    /// Slots of the last minutes that did not run.
    fn backfill(&self) -> BoxFuture<'static, ()> {
        let (name, back, length) = {
            let mut inner = self.ground.inner();
            (*inner.dice.pick(&["tick", "mail"]), inner.dice.below(240), inner.dice.below(90))
        };
        self.ground.note(|| format!("somebody backfills {name}, {length} s from {back} s ago"));
        let store = Arc::clone(&self.store);
        async move {
            let Ok(now) = store.scheduler_now().await else { return };
            let from = now - Duration::from_secs(back);
            let interval = (from, now.min(from + Duration::from_secs(length)));
            let (store, actor) = (store.as_ref() as &dyn SchedulerStore, somebody());
            drop(scheduler::backfill(store, jiff::tz::db(), name, interval, Some(&actor)).await);
        }
        .boxed()
    }

    fn resume_all(&self) -> BoxFuture<'static, ()> {
        let store = Arc::clone(&self.store);
        async move {
            for name in ["tick", "mail", "chain"] {
                drop(scheduler::resume(store.as_ref() as &dyn SchedulerStore, jiff::tz::db(), name, &somebody()).await);
            }
        }
        .boxed()
    }
}
