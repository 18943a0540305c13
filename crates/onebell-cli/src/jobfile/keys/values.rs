//! Tables that stand at several keys.

use super::Shape::{Either, List, Name, Table as Keys, Text, Whole, Word};
use super::Without::{Nothing, Refused, Said, Same};
use super::{Section, Shape, Table, key, words};
use onebell::model::alarm::{AFTER_SKIPS_MAX, AlarmKind};

/// `retry = { … }`
pub static RETRY: Table = Table { name: "retry", sections: &[&RETRY_KEYS], one_of: &[] };

/// `retry = { … }`
pub static RETRY_KEYS: Section = Section {
    title: "`retry`",
    meaning: "Keys that are left out keep what `[defaults]` says; the defaults here are its own.",
    keys: &[
        key("attempts", Whole(1, 1_000_000), Same("3"), "tries, the first one counted", "5"),
        key(
            "backoff",
            Text,
            Same("\"1s..1m\""),
            "the first wait and the longest one, which doubles in between; one duration: it does not grow",
            "\"2s..5m\"",
        ),
        key("within", Shape::Duration, Said("only tries are counted"), "time from the first claim to the last one", "\"1h\""),
    ],
};

/// `notify = { … }`
pub static NOTIFY: Table = Table { name: "notify", sections: &[&NOTIFY_KEYS], one_of: &[] };

/// `notify = { … }`
pub static NOTIFY_KEYS: Section = Section {
    title: "`notify`",
    meaning: "A job takes from `[defaults]` what it leaves out. A run whose tries are used up is *parked* and waits for a person; it \
              *failed* when an answer was final.",
    keys: &[
        key("channel", Name, Said("needed, here or in `[defaults]`"), "a name under `[channels]`", "\"mail\""),
        key("to", Name, Said("needed for a channel of mail"), "who gets the mail", "\"ops@example.com\""),
        key(
            "on",
            List(&Word(|| words(AlarmKind::ALL)), 0),
            Said("needed, here or in `[defaults]`"),
            "what is told; `[]`: nothing of this job",
            "[\"failed\", \"skipped\"]",
        ),
        key("after_skips", Whole(1, AFTER_SKIPS_MAX as i64), Same("1"), "so many slots skipped in a row are told of", "3"),
    ],
};

/// `ping = { … }`
pub static PING: Table = Table { name: "ping", sections: &[&PING_KEYS], one_of: &[] };

/// `ping = { … }`
pub static PING_KEYS: Section = Section {
    title: "`ping`",
    meaning: "An address, or this table. An address alone gets a `POST` for every success, and one at `/fail` below it for every run \
              that failed or waits for a person. Here each has an address of its own; what is left out is not sent.",
    keys: &[
        key("success", SECRET_VALUE_SHAPE, Nothing, "after every run that succeeded", "\"https://monitor.example.com/up\""),
        key(
            "fail",
            SECRET_VALUE_SHAPE,
            Nothing,
            "after every run that failed or is parked",
            "\"https://monitor.example.com/down\"",
        ),
    ],
};

/// `ping`: an address, where to find it, or a table.
pub const PING_SHAPE: &[Shape] = &[Text, Keys(&SECRET), Keys(&PING)];

const SECRET_VALUE_SHAPE: Shape = Either(SECRET_SHAPE);

/// `rrule = { … }`
pub static RRULE: Table = Table { name: "rrule", sections: &[&RRULE_KEYS], one_of: &[] };

/// One rule.
static RRULE_SHAPE: Shape = Keys(&RRULE);

/// `rrule = { … }`
pub static RRULE_KEYS: Section = Section {
    title: "`rrule`",
    meaning: "A recurrence rule of RFC 5545 (iCalendar). Every part of the specification but `SECONDLY`; clock changes are the job's \
              `dst`, excluded days its `except`.",
    keys: &[
        key(
            "rule",
            Name,
            Refused,
            "`FREQ`, then `INTERVAL`, `COUNT` or `UNTIL`, `WKST` and the `BY…` parts",
            "\"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR\"",
        ),
        key(
            "start",
            Shape::Date,
            Refused,
            "where it begins (`DTSTART`), as a local time: intervals and counts begin there, and what the rule leaves open is as then",
            "\"2026-12-01T09:00\"",
        ),
    ],
};

/// A text, or where to find it.
pub const SECRET_SHAPE: &[Shape] = &[Text, Keys(&SECRET)];

/// `{ env = … }` or `{ file = … }`
pub static SECRET: Table = Table { name: "secret", sections: &[&SECRET_KEYS], one_of: &["env", "file"] };

/// `{ env = … }` or `{ file = … }`
pub static SECRET_KEYS: Section = Section {
    title: "Secrets",
    meaning: "A text, or a table that says where each replica finds it.",
    keys: &[
        key("env", Name, Nothing, "a variable of the replica", "\"SMTP_PASSWORD\""),
        key("file", Name, Nothing, "a file on the replica; a line end after it is not part of it", "\"/run/secrets/smtp\""),
        key("prefix", Text, Nothing, "a text before the value, which is no secret", "\"Bearer \""),
    ],
};

/// SQL: a text, or a table.
pub const SQL_SHAPE: &[Shape] = &[Name, Keys(&STATEMENTS)];

/// `{ file = "pull.sql" }`
pub static STATEMENTS: Table = Table { name: "statements", sections: &[&STATEMENTS_KEYS], one_of: &["text", "file"] };

/// `{ file = "pull.sql" }`
pub static STATEMENTS_KEYS: Section = Section {
    title: "SQL",
    meaning: "A text, or a table. A file is read when the job file is, and is part of the definition.",
    keys: &[
        key("text", Text, Nothing, "the statements", "\"DELETE FROM staging\""),
        key("file", Name, Nothing, "a file with them", "\"pull.sql\""),
    ],
};

/// `missed = { all = 10 }`
pub static MISSED: Table = Table { name: "missed", sections: &[&MISSED_KEYS], one_of: &[] };

/// `missed = { all = 10 }`
pub static MISSED_KEYS: Section = Section {
    title: "`missed`",
    meaning: "A word, or this table.",
    keys: &[key("all", Whole(1, 100_000), Refused, "the newest so many missed slots run, the oldest first", "10")],
};

/// `missed`: a word or a table.
pub const MISSED_SHAPE: &[Shape] = &[Word(|| words(&["latest", "skip"])), Keys(&MISSED)];

/// `except = { file = "holidays.ics" }`
pub static EXCEPT: Table = Table { name: "except", sections: &[&EXCEPT_KEYS], one_of: &[] };

/// `except = { file = "holidays.ics" }`
pub static EXCEPT_KEYS: Section = Section {
    title: "`except`",
    meaning: "An array of days, or this table.",
    keys: &[key("file", Name, Refused, "whole-day events of an iCalendar file (`.ics`), or a day a line", "\"holidays.ics\"")],
};

/// `except`: days or a file of them.
pub const EXCEPT_SHAPE: &[Shape] = &[List(&Shape::Date, 0), Keys(&EXCEPT)];

/// `exit_codes = { … }`
pub static EXIT_CODES: Table = Table { name: "exit_codes", sections: &[&EXIT_CODES_KEYS], one_of: &[] };

/// `exit_codes = { … }`
pub static EXIT_CODES_KEYS: Section = Section {
    title: "`exit_codes`",
    meaning: "A code stands in one of the two.",
    keys: &[
        key("permanent", List(&Whole(1, 255), 0), Nothing, "the step fails for good", "[3]"),
        key("retry", List(&Whole(1, 255), 0), Nothing, "again within the budget", "[65]"),
    ],
};

/// One name or several.
pub(super) const NAMES: &[Shape] = &[Name, List(&Name, 1)];
/// One expression or several.
pub(super) const EXPRESSIONS: &[Shape] = &[Text, List(&Text, 1)];
/// One rule or several.
pub(super) const RECURRENCES: &[Shape] = &[Keys(&RRULE), List(&RRULE_SHAPE, 1)];
/// One string for the shell, or program and arguments.
pub(super) const ARGV: &[Shape] = &[List(&Text, 1), Text];
/// A URL, or a request.
pub(super) const URL_OR_REQUEST: &[Shape] = &[Text, Keys(&super::REQUEST)];
/// Values that are secrets or not.
pub(super) static SECRET_VALUE: Shape = Either(SECRET_SHAPE);
