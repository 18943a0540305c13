//! The store's threads: one that writes in groups, one that reads. Each owns its connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::connection::{Session, pause_for};
use super::group::{Job, Mode};
use crate::store::{Result, StoreError};

/// So many pieces of work share a commit at most.
const GROUP_MAX: usize = 256;
/// After so many commits without an idle moment the lock is left to others for a moment.
const COMMITS_IN_A_ROW: u32 = 4;

/// A thread with its queue. Dropped, it finishes what was queued and ends.
pub(super) struct Thread {
    queue: Option<Sender<Box<dyn Job>>>,
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    pub(super) fn start(name: &str, session: Session, mode: Mode) -> Result<Self> {
        let (queue, waiting) = channel();
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || serve(&session, mode, &waiting))
            .map_err(|error| StoreError::away(format!("the store's thread could not be started: {error}")))?;
        Ok(Self { queue: Some(queue), handle: Some(handle) })
    }

    pub(super) fn send(&self, job: Box<dyn Job>) -> Result<()> {
        let sent = self.queue.as_ref().and_then(|queue| queue.send(job).ok());
        sent.ok_or_else(|| StoreError::broken("the store's thread has ended"))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.queue.take());
        // A panic was answered and logged where it happened.
        self.handle.take().map(JoinHandle::join).map_or((), drop);
    }
}

fn serve(session: &Session, mode: Mode, queue: &Receiver<Box<dyn Job>>) {
    let mut next = None;
    let mut in_a_row = 0;
    while let Some(first) = next.take().or_else(|| queue.recv().ok()) {
        let (group, left) = gather(first, mode, queue);
        if catch_unwind(AssertUnwindSafe(|| session.run_group(mode, group))).is_err() {
            tracing::error!(file = session.file, "work in a transaction panicked; it was rolled back");
        }
        next = left.or_else(|| queue.try_recv().ok());
        in_a_row = if next.is_some() { in_a_row + 1 } else { 0 };
        if mode == Mode::Write && in_a_row >= COMMITS_IN_A_ROW {
            pause_for(Duration::from_micros(1_200 + u64::from(in_a_row) * 271 % 1_000));
            in_a_row = 0;
        }
    }
}

/// What is queued already and may share one commit; the first that may not is left for the next.
fn gather(first: Box<dyn Job>, mode: Mode, queue: &Receiver<Box<dyn Job>>) -> (Vec<Box<dyn Job>>, Option<Box<dyn Job>>) {
    let mut group = vec![first];
    if mode == Mode::Read || group[0].verb().alone {
        return (group, None);
    }
    while group.len() < GROUP_MAX {
        match queue.try_recv() {
            Ok(job) if job.verb().alone => return (group, Some(job)),
            Ok(job) => group.push(job),
            Err(_) => break,
        }
    }
    (group, None)
}
