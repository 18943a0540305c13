use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};
use tokio::sync::Notify;

use super::phase::{Phase, PhaseEvent};

/// Decides what happens at a phase.
pub type Hook = Arc<dyn Fn(&PhaseEvent) -> HookAction + Send + Sync>;

/// How the server behaves. The default is an honest one.
#[derive(Clone)]
pub struct Behaviour {
    /// Asked at every phase but `Closed`.
    pub hook: Hook,
    /// For holds.
    pub timer: Arc<dyn Timer>,
    /// Larger messages are refused, and no more than this of one is in memory.
    pub message_max: usize,
    /// More connections at once are turned away.
    pub connections_max: usize,
    /// How many accepted messages are remembered one by one.
    pub records_max: usize,
    /// Keep the content of each.
    pub keep_content: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            hook: Arc::new(|_| HookAction::Continue),
            timer: Arc::new(SystemTimer),
            message_max: 1 << 20,
            connections_max: 256,
            records_max: 100_000,
            keep_content: false,
        }
    }
}

impl Behaviour {
    /// An honest server with this hook.
    pub fn hooked(hook: impl Fn(&PhaseEvent) -> HookAction + Send + Sync + 'static) -> Self {
        Self { hook: Arc::new(hook), ..Self::default() }
    }

    /// An honest server but for this at every `phase`.
    pub fn at(phase: Phase, action: HookAction) -> Self {
        Self::hooked(move |event| if event.phase == phase { action.clone() } else { HookAction::Continue })
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behaviour")
            .field("message_max", &self.message_max)
            .field("keep_content", &self.keep_content)
            .finish_non_exhaustive()
    }
}

/// What happens at a phase in place of its answer.
#[derive(Debug, Clone)]
pub enum HookAction {
    /// The honest answer.
    Continue,
    /// Wait first.
    Hold(Hold),
    /// End the connection (FIN).
    Close,
    /// End it with a reset (RST), as a killed server or a firewall does. Over anything but TCP it is a `Close`.
    Reset,
    /// These words (without line end) in place of the honest answer; the command counts as refused. At `Accepted` the message
    /// stays counted.
    Reply(String),
    /// These words, then close.
    ReplyThenClose(String),
    /// The honest answer, then a reset.
    ContinueThenReset,
    /// The honest answer byte by byte, with this between two.
    Drip(Duration),
    /// One after the other; the last one that is not a hold decides.
    All(Vec<HookAction>),
}

/// Until when.
#[derive(Debug, Clone)]
pub enum Hold {
    /// For so long.
    For(Duration),
    /// Until notified. `notify_one` before the phase counts too.
    Until(Arc<Notify>),
}
