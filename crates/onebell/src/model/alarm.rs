//! What is told of a job that goes wrong, in its own words and under its own key: one message for each event, however many replicas
//! see it. The store puts it in the transaction that makes the event. It sends nothing, and decides over no run.

mod moved;
mod ping;
mod row;
mod told;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use moved::{RunMoved, Success};
pub use ping::{Ping, PingWord};
pub use row::{SlotEnd, skips_in_a_row};
pub use told::Alarm;

use super::fingerprint::json_string;
use super::message::{InDoubtPolicy, NewMessage};
use super::retry::RetryPolicy;
use super::transition::words;
use super::{JobId, Moment};

words! {
    /// What may be told of a job.
    AlarmKind {
        /// A run failed.
        Failed = "failed",
        /// A run waits for a person.
        Parked = "parked",
        /// Nobody knows whether a message of it arrived.
        InDoubt = "in_doubt",
        /// Slots were skipped, so many in a row.
        Skipped = "skipped",
        /// A slot came too late to start.
        LateStart = "late_start",
        /// A run was not over in time.
        LateFinish = "late_finish",
        /// A run succeeded sooner than it can have done its work.
        TooShort = "too_short",
        /// A job succeeded again.
        Recovered = "recovered",
        /// A job has not succeeded for too long.
        Overdue = "overdue",
    }
}

impl AlarmKind {
    /// A success after it is a recovery.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Parked)
    }
}

/// A message that tells something of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// It.
    pub message: NewMessage,
    /// A success after it is a recovery.
    pub is_failure: bool,
}

/// What of a job is told, and on which channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notify {
    /// The channel that delivers it: carried by a replica, as for any message.
    pub channel: String,
    /// What is told.
    pub on: BTreeSet<AlarmKind>,
    /// Slots are told of when so many were skipped in a row.
    #[serde(default = "one")]
    pub after_skips: u32,
    /// How the channel wants it.
    #[serde(default)]
    pub form: Form,
    /// What an unknown outcome of an alarm means.
    pub on_in_doubt: InDoubtPolicy,
    /// How often, and for how long, its delivery is tried.
    #[serde(default)]
    pub retry: RetryPolicy,
}

/// The payload of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The alarm itself, an object: see [`Notify::message`]. For channels of a program's own.
    #[default]
    Plain,
    /// A mail to one address, as the program's channel of kind `smtp` takes it.
    Mail {
        /// One mailbox.
        to: String,
    },
    /// The same object as the body of a webhook, as the program's channel of kind `http` takes it.
    Webhook,
}

/// How the keys of all alarms begin, and of no other message: one with such a key would hide the alarm.
pub const KEY_PREFIX: &str = "alarm/";

/// So many skips in a row can be asked for: they are read one by one.
pub const AFTER_SKIPS_MAX: u32 = 1_000;

fn one() -> u32 {
    1
}

impl Notify {
    /// Tells `on` over `channel`, each skipped slot's row at its first, as a plain object that may be sent twice.
    pub fn new(channel: impl Into<String>, on: impl IntoIterator<Item = AlarmKind>) -> Self {
        Self {
            channel: channel.into(),
            on: on.into_iter().collect(),
            after_skips: one(),
            form: Form::Plain,
            on_in_doubt: InDoubtPolicy::Resend,
            retry: RetryPolicy::default(),
        }
    }

    /// The message that tells `alarm` of the job; nothing when nobody asked for it.
    ///
    /// The object has `alarm` (the kind), `job`, `subject`, `text`, `commands` (what to type next), `at`, and where they make
    /// sense `run`, `message`, `slot`, `first`, `last`, `count`, `due`, `worked_ms`.
    ///
    /// ```
    /// use onebell::model::alarm::{Alarm, AlarmKind, Notify};
    /// use onebell::model::{JobId, Moment, RunId};
    /// let notify = Notify::new("ops", [AlarmKind::Failed]);
    /// let failed = Alarm::Failed { run: RunId::from_text("backup-1"), attempts: 3, reason: None };
    /// let message = notify.message(&JobId::of_name("backup"), "backup", &failed, Moment::default()).unwrap();
    /// assert_eq!(message.key.as_str(), "alarm/failed/backup-1/3");
    /// assert!(message.payload.contains("onebell retry backup-1"));
    /// ```
    pub fn message(&self, job: &JobId, name: &str, alarm: &Alarm, at: Moment) -> Option<NewMessage> {
        if !self.on.contains(&alarm.kind()) {
            return None;
        }
        let payload = match &self.form {
            Form::Plain => alarm.object(name, at),
            Form::Mail { to } => object(&[
                ("to", json_string(to)),
                ("subject", json_string(&alarm.subject(name))),
                ("text", json_string(&alarm.text(name))),
            ]),
            Form::Webhook => {
                object(&[("body", json_string(&alarm.object(name, at))), ("content_type", json_string("application/json"))])
            }
        };
        // Text of ours always has a fingerprint; were it otherwise, an alarm must not stop what it tells of.
        let message = NewMessage::new(alarm.key(job)?, &self.channel, payload).ok()?;
        Some(NewMessage { on_in_doubt: self.on_in_doubt, retry: self.retry, ..message })
    }

    /// Whether skips are counted.
    pub fn counts_skips(&self) -> bool {
        self.on.contains(&AlarmKind::Skipped)
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        if self.channel.trim().is_empty() && !self.on.is_empty() {
            return Some("`notify` has no channel; name one".to_owned());
        }
        let counts = (1..=AFTER_SKIPS_MAX).contains(&self.after_skips);
        (!counts).then(|| format!("`notify.after_skips` is {}; write 1 to {AFTER_SKIPS_MAX}", self.after_skips))
    }
}

/// A JSON object of values that are written already.
fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RunId;

    const NOW: Moment = Moment::from_micros(1_795_978_800_000_000);

    fn run() -> RunId {
        RunId::from_text("backup-1")
    }

    fn told(notify: &Notify, alarm: &Alarm) -> NewMessage {
        notify.message(&JobId::of_name("backup"), "backup", alarm, NOW).unwrap()
    }

    #[test]
    fn only_what_was_asked_for_is_told() {
        let parked = Alarm::Parked { run: run(), attempts: 1, reason: None };
        let notify = Notify::new("ops", [AlarmKind::Failed]);
        assert_eq!(notify.message(&JobId::of_name("backup"), "backup", &parked, NOW), None);
        assert!(Notify::new("ops", AlarmKind::ALL.iter().copied()).counts_skips());
    }

    #[test]
    fn failing_again_after_a_retry_has_another_key_and_the_same_failure_the_same() {
        let failed = |attempts| Alarm::Failed { run: run(), attempts, reason: Some("step dump failed".to_owned()) };
        let notify = Notify::new("ops", [AlarmKind::Failed]);
        assert_eq!(told(&notify, &failed(3)), told(&notify, &failed(3)));
        assert_ne!(told(&notify, &failed(3)).key, told(&notify, &failed(4)).key);
    }

    #[test]
    fn a_mail_and_a_webhook_carry_the_same_words() {
        let failed = Alarm::Failed { run: run(), attempts: 1, reason: Some("step \"dump\" failed".to_owned()) };
        let mut notify = Notify::new("ops", [AlarmKind::Failed]);
        notify.form = Form::Mail { to: "ops@example.com".to_owned() };
        let mail = told(&notify, &failed).payload;
        assert!(
            mail.starts_with(
                r#"{"to":"ops@example.com","subject":"backup: run failed","text":"Run backup-1 of job backup failed"#
            ),
            "{mail}"
        );
        assert!(mail.contains(r#"step \"dump\" failed"#) && mail.contains("onebell retry backup-1"), "{mail}");
        notify.form = Form::Webhook;
        let webhook = told(&notify, &failed).payload;
        assert!(webhook.starts_with(r#"{"body":"{\"alarm\":\"failed\",\"job\":\"backup\""#), "{webhook}");
        assert!(webhook.ends_with(r#""content_type":"application/json"}"#), "{webhook}");
    }
}
