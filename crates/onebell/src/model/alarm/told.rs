//! What happened, in words: for a person who has not seen Onebell today, with the command to type next.

use std::time::Duration;

use super::{AlarmKind, KEY_PREFIX, object};
use crate::model::fingerprint::{Fingerprint, json_string};
use crate::model::shown::{shell_word, shown, shown_lines};
use crate::model::spelled::spelled;
use crate::model::{JobId, Key, Moment, RunId};

/// Something that went wrong, or is well again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alarm {
    /// A run failed.
    Failed {
        /// Which.
        run: RunId,
        /// Of all its steps together, so far.
        attempts: u64,
        /// As the run says it.
        reason: Option<String>,
    },
    /// A run waits for a person.
    Parked {
        /// Which.
        run: RunId,
        /// Of all its steps together, so far.
        attempts: u64,
        /// As the run says it.
        reason: Option<String>,
    },
    /// Nobody knows whether a message arrived.
    InDoubt {
        /// Its key.
        message: String,
        /// Its attempt.
        attempt: u64,
        /// The run that put it.
        run: RunId,
    },
    /// Slots were skipped in a row.
    Skipped {
        /// The slot of the last run before them.
        after: Option<Moment>,
        /// The first of them.
        first: Moment,
        /// The last of them, so far.
        last: Moment,
        /// How many, so far, if they were counted.
        count: Option<u64>,
    },
    /// Slots came too late to start.
    LateStart {
        /// The first of them.
        first: Moment,
        /// The last of them.
        last: Moment,
        /// How many.
        count: u64,
    },
    /// A run was not over in time.
    LateFinish {
        /// Which.
        run: RunId,
        /// When it should have been over.
        due: Moment,
    },
    /// A run succeeded sooner than it can have done its work.
    TooShort {
        /// Which.
        run: RunId,
        /// How long its attempts worked, all together.
        worked: Duration,
        /// How long they should have.
        at_least: Duration,
    },
    /// A job succeeded again.
    Recovered {
        /// The run that succeeded.
        run: RunId,
        /// What it ran for.
        slot: Option<Moment>,
        /// Failures that were told since the success before.
        failures: u64,
        /// The silence before it was told.
        was_silent: bool,
    },
    /// A job has not succeeded for too long.
    Overdue {
        /// Since when: it names the silence.
        base: Moment,
        /// The newest success.
        succeeded_at: Option<Moment>,
        /// By when it should have succeeded.
        due: Moment,
    },
}

impl Alarm {
    /// Slots of one pass that came too late to start, if there are any.
    pub fn late_starts(slots: &[Moment]) -> Option<Self> {
        let (first, last) = (*slots.iter().min()?, *slots.iter().max()?);
        Some(Self::LateStart { first, last, count: slots.len() as u64 })
    }

    /// What it is about.
    pub fn kind(&self) -> AlarmKind {
        match self {
            Self::Failed { .. } => AlarmKind::Failed,
            Self::Parked { .. } => AlarmKind::Parked,
            Self::InDoubt { .. } => AlarmKind::InDoubt,
            Self::Skipped { .. } => AlarmKind::Skipped,
            Self::LateStart { .. } => AlarmKind::LateStart,
            Self::LateFinish { .. } => AlarmKind::LateFinish,
            Self::TooShort { .. } => AlarmKind::TooShort,
            Self::Recovered { .. } => AlarmKind::Recovered,
            Self::Overdue { .. } => AlarmKind::Overdue,
        }
    }

    /// The event's identity: whoever sees the same event names it so.
    pub(super) fn key(&self, job: &JobId) -> Option<Key> {
        let rest = match self {
            Self::Failed { run, attempts, .. } | Self::Parked { run, attempts, .. } => format!("{run}/{attempts}"),
            Self::InDoubt { message, attempt, .. } => format!("{message}/{attempt}"),
            Self::Skipped { after, .. } => {
                format!("{job}/{}", after.map_or_else(|| "beginning".to_owned(), |after| after.to_string()))
            }
            Self::LateStart { first, .. } => format!("{job}/{first}"),
            Self::LateFinish { run, .. } | Self::TooShort { run, .. } | Self::Recovered { run, .. } => run.to_string(),
            Self::Overdue { base, .. } => format!("{job}/{base}"),
        };
        let kind = self.kind();
        let short = |_| Key::new(&format!("{KEY_PREFIX}{kind}/{}", Fingerprint::of_json(&json_string(&rest)).ok()?)).ok();
        // A message's own key may be as long as keys can be.
        Key::new(&format!("{KEY_PREFIX}{kind}/{rest}")).map_or_else(short, Some)
    }

    /// One line.
    pub(super) fn subject(&self, job: &str) -> String {
        let what = match self {
            Self::Failed { .. } => "run failed".to_owned(),
            Self::Parked { .. } => "run waits for a person".to_owned(),
            Self::InDoubt { .. } => "message in doubt".to_owned(),
            Self::Skipped { count, .. } => format!("{} skipped in a row", slots(*count)),
            Self::LateStart { count, .. } => format!("{} too late to start", slots(Some(*count))),
            Self::LateFinish { .. } => "run is late to finish".to_owned(),
            Self::TooShort { .. } => "run was too short".to_owned(),
            Self::Recovered { .. } => "runs again".to_owned(),
            Self::Overdue { .. } => "has not succeeded for too long".to_owned(),
        };
        format!("{}: {what}", plain(job))
    }

    /// What happened, then what to type, a line each.
    pub(super) fn text(&self, job: &str) -> String {
        let commands: String = self.commands(job).iter().map(|command| format!("\n  {command}")).collect();
        format!("{}\n{commands}\n", self.sentence(&plain(job)))
    }

    fn sentence(&self, job: &str) -> String {
        match self {
            Self::Failed { run, reason, .. } => format!("Run {run} of job {job} failed{}.", because(reason.as_deref())),
            Self::Parked { run, reason, .. } => {
                format!("Run {run} of job {job} is parked{}. It waits until a person decides.", because(reason.as_deref()))
            }
            Self::InDoubt { message, run, .. } => format!(
                "Message {} of run {run} of job {job} may have arrived or not; nobody can know. It is not sent again until a \
                 person decides.",
                shown(message)
            ),
            Self::Skipped { after, first, last, count } => {
                let before =
                    after.map_or_else(|| "no slot ran before".to_owned(), |after| format!("the last run was for {after}"));
                format!("Of job {job} {} skipped in a row, from {first} to {last}; {before}.", were(*count))
            }
            Self::LateStart { first, last, count } => {
                let which = if first == last { format!("slot {first}") } else { format!("slots {first} to {last}") };
                format!("Of job {job} {} too late to start ({which}): recorded as skipped, not run.", were(Some(*count)))
            }
            Self::LateFinish { run, due } => format!("Run {run} of job {job} was to be over by {due} and was not."),
            Self::TooShort { run, worked, at_least } => format!(
                "Run {run} of job {job} succeeded after {} of work; it takes at least {}. Did it do anything?",
                spelled(*worked),
                spelled(*at_least)
            ),
            Self::Recovered { run, slot, failures, was_silent } => {
                let slot = slot.map(|slot| format!(" (slot {slot})")).unwrap_or_default();
                format!("Job {job} runs again: run {run}{slot} succeeded, {}.", after(*failures, *was_silent))
            }
            Self::Overdue { base, succeeded_at, due } => {
                let last = match succeeded_at {
                    Some(at) => format!("its last success was at {at}"),
                    None => format!("it has not succeeded since {base}, when it was first expected to"),
                };
                format!(
                    "Job {job} was to succeed by {due} and did not; {last}. Nothing more is told of it until it succeeds. If it is \
                     not wanted any more, pause it."
                )
            }
        }
    }

    fn commands(&self, job: &str) -> Vec<String> {
        match self {
            Self::Failed { run, .. } | Self::Parked { run, .. } => {
                vec![format!("onebell show {run}"), format!("onebell retry {run}")]
            }
            Self::InDoubt { message, run, .. } => {
                let key = shell_word(message);
                vec![
                    format!("onebell outbox show {key}"),
                    format!("onebell outbox resolve {key} --as sent    # or resend, or drop"),
                    format!("onebell show {run}"),
                ]
            }
            Self::Skipped { .. } | Self::LateStart { .. } => vec![format!("onebell skips --job {}", shell_word(job))],
            Self::LateFinish { run, .. } | Self::Recovered { run, .. } => vec![format!("onebell show {run}")],
            Self::TooShort { run, .. } => vec![format!("onebell show {run}"), format!("onebell logs {run}")],
            Self::Overdue { .. } => {
                let job = shell_word(job);
                vec![
                    format!("onebell runs --job {job}"),
                    "onebell replicas".to_owned(),
                    format!("onebell trigger {job}"),
                    format!("onebell pause {job}"),
                ]
            }
        }
    }

    /// All of it, for programs.
    pub(super) fn object(&self, job: &str, at: Moment) -> String {
        let moment = |at: &Moment| json_string(&at.to_string());
        let commands: Vec<String> = self.commands(job).iter().map(|command| json_string(command)).collect();
        let mut members = vec![
            ("alarm", json_string(self.kind().as_str())),
            ("job", json_string(job)),
            ("subject", json_string(&self.subject(job))),
            ("text", json_string(&self.text(job))),
            ("commands", format!("[{}]", commands.join(","))),
            ("at", moment(&at)),
        ];
        match self {
            Self::Failed { run, .. } | Self::Parked { run, .. } => members.push(("run", json_string(run.as_str()))),
            Self::InDoubt { message, run, .. } => {
                members.extend([("run", json_string(run.as_str())), ("message", json_string(message))]);
            }
            Self::Skipped { first, last, count, .. } => {
                members.extend([("first", moment(first)), ("last", moment(last))]);
                members.extend(count.map(|count| ("count", count.to_string())));
            }
            Self::LateStart { first, last, count } => {
                members.extend([("first", moment(first)), ("last", moment(last)), ("count", count.to_string())]);
            }
            Self::LateFinish { run, due } => members.extend([("run", json_string(run.as_str())), ("due", moment(due))]),
            Self::TooShort { run, worked, .. } => {
                members.extend([("run", json_string(run.as_str())), ("worked_ms", worked.as_millis().to_string())]);
            }
            Self::Recovered { run, slot, failures, .. } => {
                members.extend([("run", json_string(run.as_str())), ("count", failures.to_string())]);
                members.extend(slot.as_ref().map(|slot| ("slot", moment(slot))));
            }
            Self::Overdue { succeeded_at, due, .. } => {
                members.push(("due", moment(due)));
                members.extend(succeeded_at.as_ref().map(|at| ("last", moment(at))));
            }
        }
        object(&members)
    }
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {}", shown_lines(reason))).unwrap_or_default()
}

fn slots(count: Option<u64>) -> String {
    match count {
        Some(1) => "1 slot".to_owned(),
        Some(count) => format!("{count} slots"),
        None => "many slots".to_owned(),
    }
}

fn were(count: Option<u64>) -> String {
    format!("{} {}", slots(count), if count == Some(1) { "was" } else { "were" })
}

/// What a recovery ended.
fn after(failures: u64, was_silent: bool) -> String {
    let failed = match failures {
        0 => return "after it was overdue".to_owned(),
        1 => "after 1 failure".to_owned(),
        many => format!("after {many} failures"),
    };
    if was_silent { format!("{failed} and overdue") } else { failed }
}

/// On one line: a mail's subject takes nothing else. What turns the reading direction is spelled out.
fn plain(name: &str) -> String {
    shown(&name.chars().map(|found| if found.is_control() { ' ' } else { found }).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_as_long_as_keys_can_be_still_has_an_alarm_of_its_own() {
        let doubt = |message: String| Alarm::InDoubt { message, attempt: 1, run: RunId::from_text("r") };
        let key = |message| doubt(message).key(&JobId::of_name("j")).unwrap();
        assert_eq!(key("reminder/17".to_owned()).as_str(), "alarm/in_doubt/reminder/17/1");
        assert_ne!(key("k".repeat(512)), key(format!("{}l", "k".repeat(511))));
    }

    #[test]
    fn what_is_well_again_and_what_is_silent_say_so_in_plain_words() {
        let slot: Moment = "2026-11-29T19:00:00Z".parse().unwrap();
        let back = |failures, was_silent| {
            Alarm::Recovered { run: RunId::from_text("r"), slot: Some(slot), failures, was_silent }.text("debt-reminders")
        };
        assert!(
            back(3, false)
                .starts_with("Job debt-reminders runs again: run r (slot 2026-11-29T19:00:00Z) succeeded, after 3 failures.")
        );
        assert!(back(0, true).contains("after it was overdue.") && back(1, true).contains("after 1 failure and overdue."));
        let silent = |succeeded_at| Alarm::Overdue { base: slot, succeeded_at, due: slot }.text("b");
        assert!(
            silent(None).contains("has not succeeded since 2026-11-29T19:00:00Z") && silent(None).contains("onebell pause b")
        );
        assert!(silent(Some(slot)).contains("its last success was at 2026-11-29T19:00:00Z"));
    }

    #[test]
    fn what_is_to_be_typed_can_be_typed() {
        let doubt = Alarm::InDoubt { message: "it's/ 17".to_owned(), attempt: 1, run: RunId::from_text("r") };
        assert!(doubt.text("j").contains(r"onebell outbox resolve 'it'\''s/ 17' --as sent"), "{}", doubt.text("j"));
        let skipped = Alarm::Skipped { after: None, first: Moment::default(), last: Moment::default(), count: Some(1) };
        assert_eq!(skipped.subject("b\nc"), "b c: 1 slot skipped in a row");
        assert!(skipped.text("báo cáo").contains("onebell skips --job 'báo cáo'"));
    }

    #[test]
    fn what_a_receiver_or_a_command_said_is_text_in_a_mail() {
        let reason = Some("exit code 1: \u{1b}[2J\u{202e}</pre><script>1</script>\nsecond".to_owned());
        let text = Alarm::Failed { run: RunId::from_text("r"), attempts: 1, reason }.text("j\u{202e}");
        assert!(
            text.contains("job j\\u{202e} failed: exit code 1: \\u{1b}[2J\\u{202e}</pre><script>1</script>\nsecond."),
            "{text}"
        );
        let doubt = Alarm::InDoubt { message: "k\u{202e}'".to_owned(), attempt: 1, run: RunId::from_text("r") }.text("j");
        assert!(doubt.contains(r"Message k\u{202e}' of") && doubt.contains(r"onebell outbox show $'k\u202e\''"), "{doubt}");
    }
}
