//! What is found about a job, and the kinds of findings.

use serde::Serialize;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; alone, it is no reason to act.
    Note,
    /// Goes wrong one day.
    Warning,
    /// Is wrong today: it does not run, or not as it reads.
    Error,
}

impl Severity {
    /// From the least.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding about one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind, one of those of docs/audit.md.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is so, and why it matters.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// A kind of finding, as the guide lists it.
pub(super) struct Code {
    pub(super) word: &'static str,
    pub(super) severity: Severity,
    /// Why it matters, for the guide.
    pub(super) why: &'static str,
    /// What to do, unless the finding knows better.
    pub(super) fix: &'static str,
}

impl Code {
    /// A finding with the usual remedy.
    pub(super) fn says(&self, message: impl Into<String>) -> Finding {
        self.with(message, self.fix)
    }

    /// A finding with a remedy of its own.
    pub(super) fn with(&self, message: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { code: self.word, severity: self.severity, message: message.into(), fix: fix.into() }
    }
}
