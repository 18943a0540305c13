//! Identities. They are derived from what they name, so that work done again after a lost answer
//! carries the same keys; only a replica's id is random. All are plain ASCII: safe as a file name,
//! an HTTP header and a Message-ID.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Moment;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes text that was an id before: read from the store or typed by a person.
            pub fn from_text(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A job: its first name in plain ASCII. A rename (`formerly`) keeps it.
    JobId
);
id!(
    /// A run: `<job>-<UTC slot>` or `<job>-r<hash of the request key>`.
    RunId
);
id!(
    /// A step of a run: `<run>.<step>`. It is also the idempotency key of the step's own effects.
    StepId
);
id!(
    /// A running process: random at every start, never a host name or a process id.
    ReplicaId
);

impl JobId {
    /// The id of a job that is registered under `name` for the first time.
    ///
    /// ```
    /// # use onebell::model::JobId;
    /// assert_eq!(JobId::of_name("debt-reminders").as_str(), "debt-reminders");
    /// assert!(JobId::of_name("báo cáo ngày").as_str().is_ascii());
    /// ```
    pub fn of_name(name: &str) -> Self {
        Self(plain(name))
    }

    /// The id of a job whose name once belonged to another one that has since been renamed.
    pub fn of_reused_name(name: &str, generation: u32) -> Self {
        Self(format!("{}~{generation}", plain(name)))
    }
}

impl RunId {
    /// The one run that a slot may ever have.
    pub fn of_slot(job: &JobId, slot: Moment) -> Self {
        let whole = slot.timestamp().strftime("%Y%m%dT%H%M%S").to_string();
        let micros = slot.micros().rem_euclid(1_000_000);
        let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
        Self(format!("{job}-{whole}{fraction}Z"))
    }

    /// The one run that a request key may ever have.
    pub fn of_request(job: &JobId, key: &str) -> Self {
        Self(format!("{job}-r{}", hex(key, 10)))
    }
}

impl StepId {
    /// The step `name` of `run`.
    pub fn of(run: &RunId, name: &str) -> Self {
        Self(format!("{run}.{}", plain(name)))
    }

    /// The step that undoes the step `name` of `run`.
    pub fn of_undo(run: &RunId, name: &str) -> Self {
        Self(format!("{run}.{}{}", plain(name), super::job::UNDO_MARK))
    }
}

/// `name` itself when it is plain ASCII, else its plain part and a hash that keeps names apart.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.len() <= 80 && name.chars().all(allowed) {
        return name.to_owned();
    }
    let kept: String = name.chars().map(|c| if allowed(c) { c } else { '-' }).take(60).collect();
    let kept = kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let joint = if kept.is_empty() { "" } else { "-" };
    format!("{kept}{joint}{}", hex(name, 4))
}

fn hex(text: &str, bytes: usize) -> String {
    Sha256::digest(text.as_bytes()).iter().take(bytes).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k04_04_ids_are_ascii_and_the_same_on_every_replica() {
        let job = JobId::of_name("báo cáo ngày");
        let run = RunId::of_slot(&job, "2026-11-29T19:00:00Z".parse().unwrap());
        assert!(run.as_str().is_ascii() && run.as_str().ends_with("-20261129T190000Z"), "{run}");
        assert_eq!(run, RunId::of_slot(&JobId::of_name("báo cáo ngày"), "2026-11-29T19:00:00Z".parse().unwrap()));
        assert_ne!(JobId::of_name("báo cáo ngày"), JobId::of_name("bao cao ngay"));
        assert_ne!(JobId::of_name("a b"), JobId::of_name("a-b"));
    }

    #[test]
    fn slots_within_one_second_have_ids_of_their_own() {
        let job = JobId::of_name("j");
        assert_ne!(RunId::of_slot(&job, Moment::from_micros(1)), RunId::of_slot(&job, Moment::from_micros(2)));
    }
}
