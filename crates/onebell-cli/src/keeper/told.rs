//! The end of a command, for people.

use super::kept::{CommandEnd, End};
use super::output::Captured;

impl CommandEnd {
    /// Such as `exit code 3`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut summary = match self.end {
            End::Exited(code) => format!("exit code {code}"),
            End::Signalled(signal) => format!("signal {signal}"),
            End::EndedByKeeper(_) => "ended by its keeper".to_owned(),
            End::KeeperLost => "its keeper was killed; what it did last is unknown".to_owned(),
        };
        if self.leftovers > 0 {
            summary.push_str(&format!(", {} processes left behind were ended", self.leftovers));
        }
        if self.survivors > 0 {
            summary.push_str(&format!(", {} processes could not be ended", self.survivors));
        }
        summary
    }

    /// The same with the last line of its stderr that says something. To be masked before.
    #[must_use]
    pub fn told(&self) -> String {
        let summary = self.summary();
        last_line(&self.stderr).map_or_else(|| summary.clone(), |line| format!("{summary}: {line}"))
    }
}

fn last_line(stderr: &Captured) -> Option<String> {
    let bytes = stderr.to_bytes();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(200).collect())
}
