//! One thread that does nothing but wait for children: the command's own process and whatever was re-parented to the keeper.
//!
//! It needs no signal handler and no polling, and `ECHILD` at its end says that nothing is left below the keeper.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::thread;

use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};

use super::plan::Status;

/// A reaper whose thread exists but does not wait yet: std must reap a child whose `exec` failed by itself.
pub(super) struct Ready {
    gate: mpsc::Sender<()>,
    reaped: UnixStream,
}

/// What the thread tells.
pub(super) enum Reaped {
    One {
        pid: i32,
        status: Status,
    },
    /// No child is left.
    All,
}

/// Makes the thread beforehand, so that a limit on threads refuses the start instead of leaving a command without a reaper.
pub(super) fn prepare() -> io::Result<Ready> {
    let (reaped, out) = UnixStream::pair()?;
    let (gate, opened) = mpsc::channel();
    thread::Builder::new().name("reaper".into()).stack_size(128 * 1024).spawn(move || {
        if opened.recv().is_ok() {
            reap(out);
        }
    })?;
    Ok(Ready { gate, reaped })
}

impl Ready {
    /// Starts waiting; the socket returned becomes readable for each child and closes after the last.
    pub(super) fn go(self) -> UnixStream {
        // The thread waits at the gate, so this cannot fail; if it did, the closed socket would say so.
        let _ = self.gate.send(());
        self.reaped
    }
}

fn reap(mut out: UnixStream) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let mut record = [0; 8];
                record[..4].copy_from_slice(&pid.as_raw_nonzero().get().to_ne_bytes());
                record[4..].copy_from_slice(&status.as_raw().to_ne_bytes());
                // Unheard or not, reaping goes on.
                let _ = out.write_all(&record);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Reads one record, after the socket became readable.
pub(super) fn next(mut reaped: &UnixStream) -> Reaped {
    let mut record = [0; 8];
    if reaped.read_exact(&mut record).is_err() {
        return Reaped::All;
    }
    let [a, b, c, d, e, f, g, h] = record;
    let pid = i32::from_ne_bytes([a, b, c, d]);
    let raw = ExitStatus::from_raw(i32::from_ne_bytes([e, f, g, h]));
    let status = raw.code().map_or_else(|| Status::Signalled(raw.signal().unwrap_or(0)), Status::Exited);
    Reaped::One { pid, status }
}
