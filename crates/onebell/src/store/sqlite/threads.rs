//! The store's threads: one that writes in groups, and those that read. Each owns its connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::connection::Session;
use super::courtesy::Courtesy;
use super::group::{Job, Mode};
use crate::store::{Result, StoreError};

/// So many pieces of work share a commit at most.
const GROUP_MAX: usize = 256;

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
        if let Some(handle) = self.handle.take()
            && handle.join().is_err()
        {
            tracing::error!("a thread of the store ended in a panic");
        }
    }
}

fn serve(session: &Session, mode: Mode, queue: &Receiver<Box<dyn Job>>) {
    let mut next = None;
    let mut courtesy = Courtesy::default();
    while let Some(first) = next.take().or_else(|| queue.recv().ok()) {
        if mode == Mode::Write {
            courtesy.before();
        }
        let group = gather(first, mode, queue, &mut next);
        if catch_unwind(AssertUnwindSafe(|| session.run_group(mode, group))).is_err() {
            tracing::error!(file = session.file, "work in a transaction panicked; it was rolled back");
        }
        if mode == Mode::Write {
            courtesy.after(session);
        }
    }
}

/// What is queued already and may share one commit. The first that may not is left in `next`.
fn gather(first: Box<dyn Job>, mode: Mode, queue: &Receiver<Box<dyn Job>>, next: &mut Option<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
    let mut group = vec![first];
    while mode == Mode::Write && group.len() < GROUP_MAX && !group[0].verb().alone {
        match queue.try_recv() {
            Ok(job) if job.verb().alone => {
                *next = Some(job);
                break;
            }
            Ok(job) => group.push(job),
            Err(_) => break,
        }
    }
    group
}
