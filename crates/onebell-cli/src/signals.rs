//! Signals to a process that this one started, by its id.

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

/// Sends it. A process that has ended by itself is no error.
pub fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        _ = kill_process(pid, signal);
    }
}

/// What a process is doing, as `/proc` tells it: `R`, `S`, `T` (stopped), `Z` (ended, not yet reaped), …; nothing when it is gone.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, brackets too.
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Whether it can still do something.
pub fn alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The signals that ask a foreground command to end.
pub struct Asked(tokio::sync::Mutex<[(u8, tokio::signal::unix::Signal); 3]>);

impl Asked {
    /// From now on they are heard, and end this process no longer by themselves.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or(0);
        let listen = |kind: SignalKind| -> std::io::Result<_> { Ok((number(kind), signal(kind)?)) };
        let [term, int, hup] = kinds.map(listen);
        Ok(Self(tokio::sync::Mutex::new([term?, int?, hup?])))
    }

    /// The number of the next one.
    pub async fn next(&self) -> u8 {
        let mut signals = self.0.lock().await;
        let [(term, on_term), (int, on_int), (hup, on_hup)] = &mut *signals;
        tokio::select! {
            _ = on_term.recv() => *term,
            _ = on_int.recv() => *int,
            _ = on_hup.recv() => *hup,
        }
    }
}
