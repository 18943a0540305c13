//! What the agent does when its keeper was killed: it ends what is left of the keeper's session, as well as it can.
//!
//! Not reached: a process that made a session of its own (`setsid`) before. With its subreaper gone nothing ties it to the
//! command any more.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpgid};

use super::tree;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// 5 s in all; what is left then cannot be ended by this user.
const LOOKS: u32 = 250;

/// KILL at once, without grace: nobody is left who would keep the time if this agent died too. Answers how many could not be
/// ended.
///
/// The session is the keeper's process id; the kernel gives that number to nobody else while the session has a member.
#[expect(clippy::disallowed_methods, reason = "waits for the kernel, not for anything that a Timer could stand in for")]
pub(super) async fn end_session(session: i32, command: i32) -> u32 {
    for _ in 0..LOOKS {
        let left = tree::in_session(session);
        reap_inherited(command);
        if left.is_empty() {
            return 0;
        }
        for process in &left {
            tree::signal(process, Signal::KILL);
        }
        tokio::time::sleep(PAUSE).await;
    }
    u32::try_from(tree::in_session(session).len()).unwrap_or(u32::MAX)
}

/// As process 1 of a container the agent inherits the orphans. It waits for that group only, never for any child: those are other
/// keepers.
fn reap_inherited(command: i32) {
    let Some(group) = Pid::from_raw(command) else { return };
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
}
