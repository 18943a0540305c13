//! The keeper: a small process that owns a command's processes from outside and ends them when its agent cannot vouch for them.
//!
//! The agent starts this program again with the hidden argument [`ARGUMENT`]. That process leads a session of its own (no
//! terminal, so neither Ctrl-C nor Ctrl-Z reaches it), is the child subreaper of everything below it, and starts the command as
//! leader of *another* process group.
//!
//! ```text
//! agent ──socket (its stdin)──► keeper (own session, subreaper) ──► command (own group) ──► …
//!   ▲  order, renewals, stop      │ started, refused, ended
//!   └──── the command's stdout and stderr: two pipes that the agent reads itself ◄──────────┘
//! ```
//!
//! It ends the command (TERM to all, grace, KILL until nothing is left) when the socket closes, when the time that the last
//! renewal allowed has run out by a clock that counts suspension, or when the agent asks. Children that left the group (`setsid`,
//! double fork) are re-parented to it and ended as well; "no child left" is the kernel's own word (`ECHILD`), not a guess.
//!
//! What it does not do: read the command's output, know anything of claims or stores, survive a SIGKILL of its own (the agent
//! then ends what is left of the session, see [`End::KeeperLost`]). It outlives TERM, INT and HUP, because `systemctl stop` sends
//! those to every process of the unit while the agent still drains; whoever wants the command to end signals the agent or the
//! command.

#[cfg(not(target_os = "linux"))]
compile_error!("onebell runs commands under a keeper, which needs Linux (child subreaper, pidfd, /proc, CLOCK_BOOTTIME)");

mod clock;
mod exit;
mod host;
mod input;
mod kept;
mod lost;
mod mask;
mod output;
mod plan;
mod reaper;
mod start;
mod told;
mod tree;
mod wire;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub use clock::{Allowance, BootTime};
pub use exit::{ExitCodes, Verdict, classify};
pub use kept::{CommandEnd, End, Kept, RenewalHandle};
pub use mask::{holds, mask, mask_text};
pub use output::Captured;
pub use plan::Reason;
pub use start::StartError;

/// The hidden first argument that makes this program a keeper.
pub const ARGUMENT: &str = "__keeper";

/// What to run, and how.
#[derive(Clone)]
pub struct CommandSpec {
    /// The program and its arguments, never through a shell. The program is looked up in the *command's* `PATH` unless it
    /// contains a slash.
    pub argv: Vec<OsString>,
    /// Variables set for the command, over the agent's own or, with `clear_env`, alone.
    pub env: Vec<(OsString, OsString)>,
    /// Start from an empty environment.
    pub clear_env: bool,
    /// Working folder; the agent's own when `None`.
    pub cwd: Option<PathBuf>,
    /// Between TERM and KILL when the command is stopped. The allowance's `kill_at` may cut it short.
    pub grace: Duration,
    /// Bytes kept of each stream: the first half of them from its beginning, the rest from its end.
    pub output_cap: usize,
    /// What it writes is written on to this process's own stdout and stderr as it comes, and it reads this process's standard input,
    /// if that is a pipe or a file.
    pub pass_on: bool,
    /// The command's private folder, which the agent removes; when the agent is gone the keeper does, for people's rows are in it.
    pub scratch: Option<PathBuf>,
}

/// Values of variables are left out: they may be secrets.
impl fmt::Debug for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("CommandSpec")
            .field("argv", &self.argv)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Runs the keeper, synchronously and to its end, if this process was started as one. To be called before anything else in
/// `main`.
#[must_use]
pub fn main_if_keeper() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    (first == ARGUMENT).then(host::run)
}
