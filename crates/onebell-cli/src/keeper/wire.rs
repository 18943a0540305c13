//! What agent and keeper say to each other: one JSON value per line, both ways, over one socket.
//!
//! Both ends are the same executable file, so there is no version to negotiate.

use std::ffi::OsString;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clock::Allowance;
use super::input::Input;
use super::plan::{Reason, Status};

/// The agent's first line. It goes over the socket and not through arguments or environment: those are limited in size and shown
/// by `ps`. No `Debug`: it carries secrets.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) argv: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) clear_env: bool,
    pub(super) cwd: Option<OsString>,
    pub(super) grace: Duration,
    pub(super) allowance: Allowance,
    pub(super) scratch: Option<OsString>,
    /// None: it reads nothing.
    pub(super) input: Option<Input>,
}

/// The agent's later lines. Each is far below a socket's atomic size, so that a write that does not block is whole or not at all.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Frame {
    /// A renewal succeeded.
    Renew(Allowance),
    /// End the command: TERM now, KILL after this.
    Stop(Duration),
}

/// The keeper's lines: `Refused` alone, or `Started` and later `Ended`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// The command was not started.
    Refused { stage: Stage, errno: i32 },
    /// The command runs; its process id is also its group's.
    Started { command: i32 },
    /// Nothing of the command is left, apart from `survivors`.
    Ended(Ended),
}

/// Where a start was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The keeper could not set itself up.
    Keeper,
    /// The allowance had run out before the command was started.
    Lapsed,
    /// No argv, or a NUL byte inside an argument.
    Argument,
    /// The working folder cannot be entered.
    Folder,
    /// `fork` or `exec`.
    Exec,
}

/// How it ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) status: Option<Status>,
    pub(super) reason: Option<Reason>,
    pub(super) leftovers: u32,
    pub(super) survivors: u32,
}

/// One message as a line. `None` only for what serde cannot write, which none of the above is.
pub(super) fn line<T: Serialize>(message: &T) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message).ok()?;
    bytes.push(b'\n');
    Some(bytes)
}

/// Bytes of a stream, taken out again as messages.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    searched: usize,
}

impl Inbox {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line. A line that cannot be read is passed over: it can only be damage, and must not end a keeper.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            let unseen = self.bytes.get(self.searched..)?;
            let Some(at) = unseen.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.bytes.len();
                return None;
            };
            let line: Vec<u8> = self.bytes.drain(..=self.searched + at).collect();
            self.searched = 0;
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cut_anywhere_arrives_whole_and_damage_is_passed_over() {
        let mut inbox = Inbox::default();
        let mut bytes = b"{nonsense\n".to_vec();
        bytes.extend(line(&Frame::Stop(Duration::from_millis(5))).expect("writes"));
        for byte in bytes {
            assert!(inbox.next::<Frame>().is_none());
            inbox.push(&[byte]);
        }
        assert!(matches!(inbox.next(), Some(Frame::Stop(grace)) if grace == Duration::from_millis(5)));
        assert!(inbox.next::<Frame>().is_none());
    }
}
