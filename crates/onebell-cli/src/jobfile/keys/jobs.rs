//! `[jobs.NAME]` and what all steps have in common.

use super::Shape::{Date, Duration, Either, Flag, List, Name, Table as Keys, Text, Whole, Word};
use super::Without::{Nothing, Said, Same};
use super::{
    APPLY_KEYS, COMMAND_KEYS, EXCEPT_SHAPE, HTTP_KEYS, Key, MESSAGE_KEYS, MISSED_SHAPE, NOTIFY, PING_SHAPE, RETRY, SQL_KEYS,
    Section, Shape, Table, key, words,
};
use onebell::model::job::{Dst, OnLost, Overlap};

/// `[jobs.NAME]`: with one step in it, or with `steps`.
pub static JOB: Table = Table {
    name: "job",
    sections: &[&JOB_KEYS, &STEP_KEYS, &COMMAND_KEYS, &HTTP_KEYS, &SQL_KEYS, &APPLY_KEYS, &MESSAGE_KEYS],
    one_of: &["steps", "command", "http", "sql", "apply", "message"],
};

/// One job.
pub static JOB_SHAPE: Shape = Keys(&JOB);

/// `[jobs.NAME]`
pub static JOB_KEYS: Section = Section {
    title: "`[jobs.NAME]`",
    meaning: "A job of one step carries the step's keys itself; a job of several has them under `[[jobs.NAME.steps]]`. Without \
              `schedule`, `every`, `at` and `rrule` it runs on request only; several of them add to one another.",
    keys: &[
        key("description", Text, Same("\"\""), "one line for people", "\"Monthly reminders\""),
        key("formerly", Name, Nothing, "an earlier name: id, cursor and keys stay", "\"old-name\""),
        key("schedule", Either(super::values::EXPRESSIONS), Nothing, "when it is due: cron", "\"0 2 * * *\""),
        key("every", Duration, Nothing, "at a fixed interval of a second or more", "\"15m\""),
        key("at", Date, Nothing, "once: local time or instant", "\"2026-12-01T02:00\""),
        key(
            "rrule",
            Either(super::values::RECURRENCES),
            Nothing,
            "when it is due: a recurrence rule as calendars have it, and where it begins",
            "{ rule = \"FREQ=MONTHLY;BYDAY=-1FR\", start = \"2026-12-01T09:00\" }",
        ),
        key("seconds", Flag, Same("false"), "the cron expressions have a leading field of seconds", "true"),
        key("time_zone", Text, Said("of `[defaults]`"), "for `schedule`, `at` and `rrule` (IANA name)", "\"Europe/Berlin\""),
        key("dst", Word(|| words(Dst::ALL)), Same("\"vixie\""), "local times that come twice or not at all", "\"skip\""),
        key(
            "overlap",
            Word(|| words(Overlap::ALL)),
            Said("`skip`; `allow` without a schedule"),
            "a slot while a run is active",
            "\"queue\"",
        ),
        key("missed", Either(MISSED_SHAPE), Same("\"latest\""), "slots that nobody was there for", "{ all = 10 }"),
        key("missed_window", Duration, Same("\"24h\""), "how far back missed slots are looked at", "\"48h\""),
        key("from", Date, Nothing, "nothing is due before this day, time or instant", "\"2026-12-01\""),
        key("until", Date, Nothing, "nothing is due after it; a date is meant to its end", "\"2027-03-31\""),
        key(
            "except",
            Either(EXCEPT_SHAPE),
            Nothing,
            "days on which nothing runs",
            "[\"2026-12-25\", \"2026-12-31..2027-01-01\"]",
        ),
        key(
            "paused",
            Flag,
            Same("false"),
            "registered for the first time, it begins paused: `onebell resume JOB`. Later it changes nothing",
            "true",
        ),
        key("start_within", Duration, Said("however late"), "a slot that could only start later does not run", "\"6h\""),
        key("finish_within", Duration, Nothing, "a run that is not over so long after it was due is told of", "\"12h\""),
        key("runs_at_least", Duration, Nothing, "a run that succeeds after less work is told of", "\"30s\""),
        key("expect_within", Duration, Nothing, "a job that has not succeeded for longer is told of", "\"26h\""),
        key(
            "ping",
            Either(PING_SHAPE),
            Nothing,
            "where a monitor outside hears of every run's end",
            "\"https://hc-ping.com/6b6c1a60-0000-4000-8000-000000000000\"",
        ),
        key(
            "notify",
            Keys(&NOTIFY),
            Said("of `[defaults]`"),
            "what of the job is told, and where",
            "{ channel = \"mail\", to = \"ops@example.com\", on = [\"failed\", \"parked\"] }",
        ),
        key(
            "steps",
            List(&Keys(&STEP), 1),
            Nothing,
            "its steps, in the order in which they run: `[[jobs.NAME.steps]]`",
            "[{ name = \"print\", command = [\"./print.sh\"] }]",
        ),
    ],
};

/// `[[jobs.NAME.steps]]`
pub static STEP: Table = Table {
    name: "step",
    sections: &[&STEP_KEYS, &COMMAND_KEYS, &HTTP_KEYS, &SQL_KEYS, &APPLY_KEYS, &MESSAGE_KEYS],
    one_of: &["command", "http", "sql", "apply", "message"],
};

/// `[[jobs.NAME.steps]]`
pub static STEP_KEYS: Section = Section {
    title: "`[[jobs.NAME.steps]]`",
    meaning: "A step does one thing: exactly one of `command`, `http`, `sql`, `apply` and `message`. All kinds share these keys.",
    keys: &[
        key("name", Name, Said("the kind's word; needed when there are several steps"), "unique within the job", "\"archive\""),
        key(
            "after",
            List(&Text, 0),
            Said("the step written before it"),
            "steps that must have succeeded; `[]`: it starts at once",
            "[\"collect\"]",
        ),
        TIMEOUT,
        HARD_LIMIT,
        key("retry", Keys(&RETRY), super::file::PATIENCE, "its budget", "{ attempts = 5, backoff = \"2s..5m\" }"),
        key("on_lost", Word(|| words(OnLost::ALL)), Same("\"retry\""), "when its replica dies after it began", "\"hold\""),
        key(
            "undo",
            Keys(&UNDO),
            Nothing,
            "what takes it back when the run fails later or is cancelled",
            "{ command = [\"./undo.sh\"] }",
        ),
        key("queue", Name, Same("\"default\""), "only replicas that serve this queue take it", "\"heavy\""),
        key("priority", Whole(-1_000_000, 1_000_000), Same("0"), "higher goes first", "10"),
    ],
};

/// `undo`
pub static UNDO: Table = Table {
    name: "undo",
    sections: &[&UNDO_KEYS, &COMMAND_KEYS, &HTTP_KEYS, &SQL_KEYS, &APPLY_KEYS],
    one_of: &["command", "http", "sql", "apply"],
};

/// `undo`
pub static UNDO_KEYS: Section = Section {
    title: "`undo`",
    meaning: "A step of its own without a name: the keys of `command`, `http`, `sql` or `apply`, and these.",
    keys: &[TIMEOUT, HARD_LIMIT, key("retry", Keys(&RETRY), Said("of `[defaults]`"), "its budget", "{ attempts = 10 }")],
};

const TIMEOUT: Key =
    key("timeout", Duration, Same("\"5m\""), "the claim lapses so long after it was made, or after the last progress", "\"15m\"");
const HARD_LIMIT: Key =
    key("hard_limit", Duration, Said("10 × `timeout`"), "progress extends the claim to at most this", "\"2h\"");

/// `input`, of commands and requests.
pub(super) const INPUT: Key = key("input", Shape::Name, Said("the step before it"), "whose rows it gets", "\"collect\"");
