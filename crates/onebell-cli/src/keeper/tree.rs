//! Which processes are below another, or in a session, read from `/proc`; and signals that cannot hit a process that took over a
//! number.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process, as `/proc/PID/stat` had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Ended, not reaped yet.
    pub(super) zombie: bool,
    /// In ticks since boot; with `pid` it names a process for good.
    started: u64,
}

/// All of them; empty where `/proc` cannot be read.
fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(read).collect()
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// The name may contain spaces and parentheses, so the fields are counted from the last `)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        zombie: *fields.first()? == "Z",
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Everything below `root`, without it. Not one instant: what is forked meanwhile shows in the next call.
pub(super) fn below(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        // Removed, so that a number that changed hands during the reading cannot make a circle.
        for child in children.remove(&parent).unwrap_or_default() {
            next.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// The living members of a session.
pub(super) fn in_session(session: i32) -> Vec<Process> {
    all().into_iter().filter(|process| process.session == session && !process.zombie).collect()
}

/// Signals exactly that process, or nothing if it is gone. Whether it may be signalled is not told: the next look tells.
pub(super) fn signal(process: &Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle is of whoever has the number now; only if that is still the one that was read, it is the right one.
    if read(process.pid).is_some_and(|now| now.started == process.started) {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) Z (b c) S 3 5 4 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 88 1 1";
        let expected = Process { pid: 7, parent: 3, group: 5, session: 4, zombie: false, started: 88 };
        assert_eq!(parse(7, stat), Some(expected));
        assert_eq!(parse(7, "7 (cut) S 3"), None);
    }

    #[test]
    fn a_child_is_below_its_parent_and_gone_from_there_when_reaped() {
        let me = i32::try_from(std::process::id()).expect("pid");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let pid = i32::try_from(child.id()).expect("pid");
        let found = below(me).into_iter().find(|process| process.pid == pid).expect("below");
        signal(&found, Signal::KILL);
        child.wait().expect("reaped");
        assert!(below(me).iter().all(|process| process.pid != pid));
    }
}
