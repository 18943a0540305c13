//! Every kind of finding: its word, how much it matters, why, and what to do. The guide's tables are made of this.

mod crontab;
mod due;
mod manifest;
mod questions;
mod units;

use super::finding::Code;

pub(super) use crontab::*;
pub(super) use due::*;
pub(super) use manifest::*;
pub(super) use questions::*;
pub(super) use units::*;

/// All of them, by what they answer.
pub(super) static ALL: &[(&str, &[&Code])] = &[
    ("What if it runs twice?", &[&RUNS_TWICE, &RETRIED_WHOLE, &OVERLAP_ALLOWED, &PARALLEL_PODS]),
    ("How long against its period?", &[&UNBOUNDED, &BOUND_PAST_PERIOD, &LATE_START, &SKIPPED_WHILE_RUNNING, &BACKGROUND]),
    ("Does it scale?", &[&SECOND_HOST, &LOCK_PER_HOST, &DEFINED_TWICE]),
    (
        "When is it due?",
        &[
            &SCHEDULE_REFUSED,
            &SCHEDULE_MISSING,
            &SCHEDULE_SURPRISE,
            &STAR_STEP,
            &ZONE_IN_SCHEDULE,
            &ZONE_UNKNOWN,
            &ZONE_CONTROLLER,
            &ZONE_HOST,
            &ZONE_IGNORED,
            &CLOCK_CHANGE,
            &AT_BOOT,
            &COUNTED,
            &DRAWN,
            &SPREAD,
            &CALENDAR_UNSAID,
            &PAUSED,
            &DEADLINE_SHORT,
            &MISSED_STOP,
            &MISSED_LOST,
        ],
    ),
    (
        "Crontabs that mean something else than they say",
        &[
            &PERCENT,
            &USER_COLUMN,
            &USER_MISSING,
            &COMMAND_MISSING,
            &LINE_REFUSED,
            &NO_FINAL_NEWLINE,
            &CRLF,
            &BOM,
            &LINE_TOO_LONG,
            &NOT_UTF8,
            &MAILTO_EMPTY,
            &VARIABLE_LITERAL,
            &VARIABLE_COMMENT,
            &FILE_IGNORED,
            &NOTHING_FOUND,
        ],
    ),
    (
        "Manifests that mean something else than they say",
        &[
            &UNREADABLE,
            &YAML_REFUSED,
            &TEMPLATE,
            &KEY_TWICE,
            &TYPE_WRONG,
            &NUMBER_OCTAL,
            &WORD_FLAG,
            &VALUE_EMPTY,
            &BLOCK_TEXT,
            &FIELD_MISPLACED,
            &FIELD_UNKNOWN,
            &FIELD_MISSING,
            &KIND_REFUSED,
            &KIND_FOREIGN,
            &API_REMOVED,
            &NAME_REFUSED,
        ],
    ),
    ("Timers that mean something else than they say", &[&UNIT_MISSING, &UNIT_LINE, &DROP_IN, &INSTANCES]),
];
