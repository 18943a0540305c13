use super::Caught::{Contract, Within};
use super::Mutant;

/// Of what is told, and of vigils.
pub(super) const ALARMS: &[Mutant] = &[
    Mutant {
        fault: "failures that were told stay counted after a success",
        statement: "end_silences",
        edits: &[(", failures = 0", "")],
        caught: Within(100),
    },
    Mutant {
        fault: "a failure that was told is not counted",
        statement: "count_failures",
        edits: &[("failures + 1", "failures")],
        caught: Within(100),
    },
    Mutant {
        fault: "a success does not end a silence",
        statement: "end_silences",
        edits: &[("expect_by = n.at + within_us", "expect_by = expect_by")],
        caught: Within(100),
    },
    Mutant {
        fault: "after the clock was set back a silence counts from where an older one did",
        statement: "end_silences",
        edits: &[("since = min(since, n.at), ", "")],
        caught: Within(200),
    },
    Mutant {
        fault: "a silence that was told is looked at again",
        statement: "move_vigils",
        edits: &[("expect_by = :expect_by", "expect_by = coalesce(:expect_by, expect_by)")],
        caught: Within(100),
    },
    Mutant {
        fault: "a pause ends a silence that was told",
        statement: "resume_vigil",
        edits: &[(" AND expect_by IS NOT NULL", "")],
        caught: Contract("vigils::a_silence_that_was_told_stays_told_over_edits_and_pauses"),
    },
    Mutant {
        fault: "a run whose lateness was told is told of again when it ends",
        statement: "tell_late_finishes",
        edits: &[("finish_by = NULL, ", "")],
        caught: Within(100),
    },
    Mutant {
        fault: "an alarm that exists is put a second time in another's place",
        statement: "insert_alarms",
        edits: &[("DO NOTHING", "DO UPDATE SET status = 'ready'")],
        caught: Within(200),
    },
];
