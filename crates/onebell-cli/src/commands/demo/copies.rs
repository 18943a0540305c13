//! The copies of the service as real processes, the mail server that counts, and the hand that kills one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::process::{Child, Command};

use super::scratch::{Scratch, copy_name};
use crate::answer::Failure;
use crate::database::Database;
use crate::draw::Draw;
use crate::mailbox::{Behaviour, HookAction, Mailbox, PhaseEvent};
use crate::signals::{self, Signal};

/// Phases of one message at the mail server, the connection included.
const PHASES_PER_MESSAGE: u64 = 7;

/// The demo's own mail server.
pub(super) struct Inbox(Mailbox);

/// Starts it; with a killer, every event passes through its hands.
pub(super) async fn mailbox(killer: Option<Arc<Killer>>) -> Result<Inbox, Failure> {
    let behaviour = match killer {
        Some(killer) => Behaviour::hooked(move |event| killer.see(event)),
        None => Behaviour::default(),
    };
    let mailbox = Mailbox::start(([127, 0, 0, 1], 0), behaviour).await;
    mailbox.map(Inbox).map_err(|error| Failure::usage(format!("the demo's mail server cannot listen on 127.0.0.1: {error}")))
}

impl Inbox {
    pub(super) fn port(&self) -> u16 {
        self.0.address().port()
    }

    pub(super) fn accepted_by_recipient(&self) -> BTreeMap<String, u64> {
        self.0.accepted_by_recipient()
    }

    pub(super) fn has(&self, message_id: &str) -> bool {
        self.0.has(message_id)
    }
}

/// Running copies.
pub(super) struct Copies(Vec<Child>);

impl Copies {
    /// One process per job file and database; all at the same moment.
    pub(super) fn start(files: &[PathBuf], databases: &[Database], scratch: &Scratch) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::usage(format!("where is this program? {error}")))?;
        let mut copies = Self(Vec::new());
        for (index, (file, database)) in files.iter().zip(databases).enumerate() {
            let half = file.parent().and_then(|dir| dir.file_name()).map(|name| name.to_string_lossy().into_owned());
            let log = scratch.path(&format!("{}.log", half.unwrap_or_else(|| format!("copy-{index}"))));
            let log = std::fs::File::create(log).map_err(|error| Failure::usage(format!("cannot write a log: {error}")))?;
            let child = Command::new(&program)
                .arg("run")
                .arg("-f")
                .arg(file)
                .arg("--drain")
                .arg("5s")
                // Arguments are shown by `ps`, and the URL may hold a password.
                .env("ONEBELL_DATABASE", database.url())
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(log)
                .env_remove("ONEBELL_FAULT")
                .kill_on_drop(true)
                .spawn();
            copies.0.push(child.map_err(|error| Failure::usage(format!("a copy cannot be started: {error}")))?);
        }
        Ok(copies)
    }

    /// Process ids by EHLO name.
    pub(super) fn pids(&self) -> BTreeMap<String, u32> {
        let numbered = self.0.iter().enumerate();
        numbered.filter_map(|(index, child)| Some((copy_name(index + 1), child.id()?))).collect()
    }

    /// Asks them to end, and ends them.
    pub(super) async fn end(mut self) {
        for child in &self.0 {
            // Without an id it has ended by itself.
            child.id().into_iter().for_each(|pid| signals::send(pid, Signal::TERM));
        }
        for child in &mut self.0 {
            let limit = onebell::time::Timer::sleep(&onebell::time::SystemTimer, Duration::from_secs(10));
            tokio::select! {
                _ = child.wait() => {}
                () = limit => drop(child.kill().await),
            }
        }
    }
}

/// Kills the copy that causes the drawn event, before the server answers it.
pub(super) struct Killer {
    drawn: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pids: BTreeMap<String, u32>,
    seen: u64,
    shot: Option<Shot>,
}

/// What the killer did.
#[derive(Debug, Clone)]
pub(super) struct Shot {
    pub(super) replica: String,
    pub(super) event: u64,
    pub(super) phase: String,
}

impl Killer {
    /// Draws a moment from the whole sending phase.
    pub(super) fn drawn(seed: u64, messages: u64) -> Self {
        Self { drawn: Draw::seeded(seed).below(messages * PHASES_PER_MESSAGE) + 1, state: Mutex::default() }
    }

    /// Tells it who is who.
    pub(super) fn aim(&self, pids: BTreeMap<String, u32>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pids = pids;
    }

    fn see(&self, event: &PhaseEvent) -> HookAction {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen += 1;
        // The end of a connection names nobody that could still be hit half-way.
        if state.shot.is_none()
            && state.seen >= self.drawn
            && let Some(pid) = state.pids.get(&event.ehlo).copied()
        {
            signals::send(pid, Signal::KILL);
            state.shot = Some(Shot { replica: event.ehlo.clone(), event: state.seen, phase: event.phase.to_string() });
        }
        HookAction::Continue
    }

    pub(super) fn report(&self) -> Option<Shot> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).shot.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_draw_moments_from_the_whole_sending_phase() {
        let drawn: Vec<u64> = (1..=200).map(|seed| Killer::drawn(seed, 120).drawn).collect();
        assert!(drawn.iter().all(|moment| (1..=840).contains(moment)));
        assert!(drawn.iter().any(|moment| *moment < 100) && drawn.iter().any(|moment| *moment > 740));
    }
}
