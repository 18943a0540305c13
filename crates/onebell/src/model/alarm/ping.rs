//! A sign of life for a monitor outside, which rings when no more of them come: after each success, and when a run goes wrong.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{KEY_PREFIX, RunMoved, object};
use crate::model::fingerprint::json_string;
use crate::model::message::{InDoubtPolicy, NewMessage};
use crate::model::retry::RetryPolicy;
use crate::model::run::RunEvent;
use crate::model::transition::words;
use crate::model::{Key, Moment};

words! {
    /// What a ping says.
    PingWord {
        /// A run succeeded.
        Success = "success",
        /// A run failed, or waits for a person.
        Fail = "fail",
    }
}

/// Where pings of a job go. A second one does no harm: what is in doubt is sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// The channel that delivers them: carried by a replica, as for any message.
    pub channel: String,
    /// What is sent.
    #[serde(default = "all")]
    pub on: BTreeSet<PingWord>,
    /// How often, and for how long, the delivery of one is tried.
    #[serde(default)]
    pub retry: RetryPolicy,
}

fn all() -> BTreeSet<PingWord> {
    PingWord::ALL.iter().copied().collect()
}

impl Ping {
    /// Both words over `channel`.
    pub fn new(channel: impl Into<String>) -> Self {
        Self { channel: channel.into(), on: all(), retry: RetryPolicy::default() }
    }

    /// The message that says how a run of the job moved, if that is worth a ping.
    ///
    /// The object has `ping` (the word), `job`, `run` and `at`.
    pub(super) fn message(&self, job: &str, moved: &RunMoved, at: Moment) -> Option<NewMessage> {
        let word = match moved.event {
            RunEvent::Succeed => PingWord::Success,
            RunEvent::EndFailed | RunEvent::Park => PingWord::Fail,
            _ => return None,
        };
        if !self.on.contains(&word) {
            return None;
        }
        let payload = object(&[
            ("ping", json_string(word.as_str())),
            ("job", json_string(job)),
            ("run", json_string(moved.run.as_str())),
            ("at", json_string(&at.to_string())),
        ]);
        let key = Key::new(&format!("{KEY_PREFIX}ping/{}/{}/{word}", moved.run, moved.attempts)).ok()?;
        let message = NewMessage::new(key, &self.channel, payload).ok()?;
        Some(NewMessage { on_in_doubt: InDoubtPolicy::Resend, retry: self.retry, ..message })
    }

    /// What is wrong with it.
    pub(in crate::model) fn problem(&self) -> Option<String> {
        self.channel.trim().is_empty().then(|| "`ping` has no channel; name one".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunId;

    #[test]
    fn a_ping_names_the_run_and_how_it_ended_and_nothing_else_rings() {
        let run = RunId::from_text("backup-1");
        let moved =
            |event| RunMoved { run: run.clone(), slot: None, attempts: 2, event, reason: None, finish_by: None, success: None };
        let ping = |event| Ping::new("ops").message("backup", &moved(event), Moment::default());
        let success = ping(RunEvent::Succeed).unwrap();
        assert_eq!(success.key.as_str(), "alarm/ping/backup-1/2/success");
        assert!(success.payload.starts_with(r#"{"ping":"success","job":"backup","run":"backup-1""#), "{}", success.payload);
        assert_eq!(success.on_in_doubt, InDoubtPolicy::Resend);
        assert_eq!(ping(RunEvent::Park).unwrap().key.as_str(), "alarm/ping/backup-1/2/fail");
        let quiet = Ping { on: [PingWord::Fail].into(), ..Ping::new("ops") };
        assert_eq!(quiet.message("backup", &moved(RunEvent::Succeed), Moment::default()), None);
        assert!(quiet.message("backup", &moved(RunEvent::EndFailed), Moment::default()).is_some());
        assert!(ping(RunEvent::EndFailed).is_some() && ping(RunEvent::EndCancelled).is_none() && ping(RunEvent::Admit).is_none());
    }
}
