//! Timers that mean something else than they say, or cannot be read.

use super::super::finding::Code;
use super::super::finding::Severity::{Error, Note, Warning};

pub(in super::super) static UNIT_MISSING: Code = Code {
    word: "unit-missing",
    severity: Error,
    why: "the timer starts a unit that is not beside it",
    fix: "name the folder that has both",
};

pub(in super::super) static UNIT_LINE: Code =
    Code { word: "unit-line", severity: Warning, why: "systemd ignores a line that it does not understand", fix: "correct it" };

pub(in super::super) static DROP_IN: Code = Code {
    word: "drop-in",
    severity: Note,
    why: "a drop-in beside the unit changes it; it was read as systemd does",
    fix: "look at both together: systemctl cat UNIT",
};

pub(in super::super) static INSTANCES: Code = Code {
    word: "instances",
    severity: Note,
    why: "it is a template: how many instances are enabled is not in the file",
    fix: "import one job for each instance",
};
