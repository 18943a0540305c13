//! Somebody who asks for runs all the time and keeps what was acknowledged: an answer is a promise.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onebell::model::{Key, RunId};
use onebell::store::{Actor, Cause, Store, StoreError, Trigger, Triggered};
use tokio::task::JoinHandle;

/// Asks until it is told to stop; every key is repeated until it is answered.
pub(crate) struct Asker {
    shared: Arc<Asked>,
    task: Option<JoinHandle<()>>,
}

/// A request and the run that was the answer.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    job: String,
    key: String,
    pub(crate) run: RunId,
}

#[derive(Default)]
struct Asked {
    acknowledged: Mutex<Vec<Acknowledged>>,
    stop: AtomicBool,
    away: AtomicU64,
    full: AtomicU64,
    busy: AtomicU64,
    already: AtomicU64,
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

fn request(job: &str, key: &str) -> Trigger {
    let actor = Actor { name: "test".to_owned(), reason: None };
    Trigger { job: job.to_owned(), key: Key::new(key).unwrap(), input: None, actor }
}

/// One request, repeated until it is answered.
async fn ask(store: &dyn Store, job: &str, key: &str, asked: &Asked) {
    let trigger = request(job, key);
    let keep = |run| asked.acknowledged.lock().unwrap().push(Acknowledged { job: job.to_owned(), key: key.to_owned(), run });
    loop {
        match store.trigger(&trigger).await {
            Ok(Triggered::Opened(run)) => return keep(run),
            Ok(Triggered::Already(run)) => {
                asked.already.fetch_add(1, Ordering::SeqCst);
                return keep(run);
            }
            // Nobody has registered the job yet.
            Ok(Triggered::NoSuchJob) => {}
            Ok(other) => panic!("{key}: {other:?}"),
            Err(StoreError::Unavailable { cause: Cause::Away, .. }) => drop(asked.away.fetch_add(1, Ordering::SeqCst)),
            Err(StoreError::Unavailable { cause: Cause::Full, .. }) => drop(asked.full.fetch_add(1, Ordering::SeqCst)),
            Err(StoreError::Contended { .. }) => drop(asked.busy.fetch_add(1, Ordering::SeqCst)),
            Err(error) => panic!("{key}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

impl Asker {
    /// `held` runs of `hold` first, then runs of `pay` without end, a moment apart.
    pub(crate) fn start(store: Arc<dyn Store>, held: u32) -> Self {
        let shared = Arc::<Asked>::default();
        let asked = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            for n in 0..held {
                ask(store.as_ref(), "hold", &format!("hold-{n}"), &asked).await;
            }
            let mut n = 0;
            while !asked.stop.load(Ordering::SeqCst) {
                ask(store.as_ref(), "pay", &format!("pay-{n}"), &asked).await;
                n += 1;
                tokio::time::sleep(Duration::from_millis(8)).await;
            }
        });
        Self { shared, task: Some(task) }
    }

    /// How many runs were acknowledged.
    pub(crate) fn count(&self) -> usize {
        self.shared.acknowledged.lock().unwrap().len()
    }

    /// Every acknowledged run, in order.
    pub(crate) fn acknowledged(&self) -> Vec<Acknowledged> {
        self.shared.acknowledged.lock().unwrap().clone()
    }

    /// How often the store was away, full, or busy when it was asked.
    pub(crate) fn troubles(&self) -> (u64, u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        (read(&self.shared.away), read(&self.shared.full), read(&self.shared.busy))
    }

    /// How often an answer that was lost was found again by its key.
    pub(crate) fn found_again(&self) -> u64 {
        self.shared.already.load(Ordering::SeqCst)
    }

    /// Asks for everything acknowledged once more: the same key is the same run. How many had been lost.
    pub(crate) async fn ask_again(&self, store: &dyn Store) -> u64 {
        let mut lost = 0;
        for was in self.acknowledged() {
            match store.trigger(&request(&was.job, &was.key)).await.unwrap() {
                Triggered::Already(run) => assert_eq!(run, was.run),
                Triggered::Opened(run) => {
                    assert_eq!(run, was.run, "the same key names the same run");
                    lost += 1;
                }
                other => panic!("{was:?}: {other:?}"),
            }
        }
        lost
    }

    /// Asks for so many runs of `job` at once, and keeps them among the others.
    pub(crate) async fn ask_for(&self, store: &dyn Store, job: &str, count: u32) -> Vec<RunId> {
        for n in 0..count {
            ask(store, job, &format!("{job}-more-{n}"), &self.shared).await;
        }
        let all = self.acknowledged();
        all[all.len() - count as usize..].iter().map(|was| was.run.clone()).collect()
    }

    /// How many runs of `job` were acknowledged.
    pub(crate) fn count_of(&self, job: &str) -> usize {
        self.shared.acknowledged.lock().unwrap().iter().filter(|was| was.job == job).count()
    }

    /// Ends with the request that is under way: also that one is answered.
    pub(crate) async fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(task) = self.task.take() {
            task.await.unwrap();
        }
    }
}
