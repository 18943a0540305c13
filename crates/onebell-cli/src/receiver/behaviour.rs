use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};

use super::phase::{Phase, PhaseEvent};
use crate::mailbox::Hold;

/// Decides what happens at a phase.
pub type Hook = Arc<dyn Fn(&PhaseEvent) -> Act + Send + Sync>;

/// What happens at a phase in place of the honest course.
#[derive(Debug, Clone)]
pub enum Act {
    /// The honest course: read on, do the work, answer `200`.
    Continue,
    /// Wait first.
    Hold(Hold),
    /// End the connection (FIN).
    Close,
    /// End it with a reset (RST), as a killed server or a firewall does. Over anything but TCP it is a `Close`.
    Reset,
    /// This status, with these headers and this body, in place of the honest answer. Before `Done` the work is not done.
    Answer {
        /// Such as 503.
        status: u16,
        /// Besides `Content-Length`.
        headers: Vec<(String, String)>,
        /// What comes with it.
        body: String,
    },
    /// These bytes in place of the answer; nothing else is known of HTTP.
    Raw(Vec<u8>),
    /// These bytes, then a reset.
    RawThenReset(Vec<u8>),
    /// The honest answer byte by byte, with this between two.
    Drip(Duration),
    /// One after the other; the last one that is not a hold decides.
    All(Vec<Act>),
}

impl Act {
    /// An answer without headers and words.
    pub fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: String::new() }
    }

    /// An answer with one header.
    pub fn status_with(status: u16, name: &str, value: &str) -> Self {
        Self::Answer { status, headers: vec![(name.to_owned(), value.to_owned())], body: String::new() }
    }
}

/// How the receiver behaves. The default is an honest one.
#[derive(Clone)]
pub struct Behaviour {
    /// Asked at every phase but `Closed`.
    pub hook: Hook,
    /// For holds.
    pub timer: Arc<dyn Timer>,
    /// Longer bodies are refused, and no more than this of one is in memory.
    pub body_max: usize,
    /// More connections at once are turned away.
    pub connections_max: usize,
    /// How many requests are remembered one by one.
    pub records_max: usize,
    /// Keep the body of each.
    pub keep_body: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            hook: Arc::new(|_| Act::Continue),
            timer: Arc::new(SystemTimer),
            body_max: 4 << 20,
            connections_max: 256,
            records_max: 100_000,
            keep_body: false,
        }
    }
}

impl Behaviour {
    /// An honest receiver with this hook.
    pub fn hooked(hook: impl Fn(&PhaseEvent) -> Act + Send + Sync + 'static) -> Self {
        Self { hook: Arc::new(hook), ..Self::default() }
    }

    /// An honest receiver but for this at every `phase`.
    pub fn at(phase: Phase, act: Act) -> Self {
        Self::hooked(move |event| if event.phase == phase { act.clone() } else { Act::Continue })
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behaviour").field("body_max", &self.body_max).field("keep_body", &self.keep_body).finish_non_exhaustive()
    }
}
