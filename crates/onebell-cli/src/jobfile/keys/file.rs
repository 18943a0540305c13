//! The top of the file, `[defaults]` and `[replica]`.

use super::Shape::{ByName, Duration, List, Name, Table as Keys, Text, Whole};
use super::Without::{Nothing, Said, Same};
use super::{CHANNEL_SHAPE, JOB_SHAPE, Key, NOTIFY, RETRY, Section, Table, key};

/// The file itself.
pub static FILE: Table = Table { name: "file", sections: &[&FILE_KEYS], one_of: &[] };

/// Top level.
pub static FILE_KEYS: Section = Section {
    title: "Top level",
    meaning: "",
    keys: &[
        SCHEMA,
        key(
            "include",
            List(&Name, 0),
            Nothing,
            "further files, as patterns; sorted by path. They have `jobs` and `channels` alone",
            "[\"jobs/*.toml\"]",
        ),
        key(
            "database",
            Name,
            Same("\"sqlite:onebell.db\""),
            "`sqlite:PATH` or `postgres://…`; `--database` and `ONEBELL_DATABASE` go before it",
            "\"sqlite:state/onebell.db\"",
        ),
        key(
            "defaults",
            Keys(&DEFAULTS),
            Nothing,
            "what holds for jobs that say nothing else",
            "{ time_zone = \"Europe/Berlin\" }",
        ),
        key("replica", Keys(&REPLICA), Nothing, "how each `onebell run` behaves", "{ lease = \"10s\" }"),
        CHANNELS,
        JOBS,
    ],
};

/// A file that `include` names.
pub static INCLUDED: Table = Table { name: "included", sections: &[&INCLUDED_KEYS], one_of: &[] };

/// A file that `include` names.
pub static INCLUDED_KEYS: Section = Section {
    title: "Included files",
    meaning: "What `include` names. Their paths begin at the job file's folder, as everywhere.",
    keys: &[SCHEMA, CHANNELS, JOBS],
};

const SCHEMA: Key =
    key("$schema", Text, Nothing, "where editors find the JSON Schema; nothing else reads it", "\"onebell.schema.json\"");
const CHANNELS: Key = key(
    "channels",
    ByName(&CHANNEL_SHAPE),
    Nothing,
    "how messages leave, by name: `[channels.NAME]`",
    "{ ops = { kind = \"http\", url = \"https://example.com/hook\" } }",
);
const JOBS: Key = key(
    "jobs",
    ByName(&JOB_SHAPE),
    Nothing,
    "one job each, by name: `[jobs.NAME]`",
    "{ backup = { command = [\"./backup.sh\"] } }",
);

/// `[defaults]`
pub static DEFAULTS: Table = Table { name: "defaults", sections: &[&DEFAULTS_KEYS], one_of: &[] };

/// `[defaults]`
pub static DEFAULTS_KEYS: Section = Section {
    title: "`[defaults]`",
    meaning: "What holds for jobs that say nothing else.",
    keys: &[
        key("time_zone", Text, Same("\"UTC\""), "zone of jobs that name none (IANA name)", "\"Asia/Ho_Chi_Minh\""),
        key(
            "retry",
            Keys(&RETRY),
            Same("{ attempts = 3, backoff = \"1s..1m\" }"),
            "budget of steps, and the base of what a step's own `retry` leaves out",
            "{ attempts = 5, backoff = \"2s..5m\", within = \"1h\" }",
        ),
        key(
            "notify",
            Keys(&NOTIFY),
            Nothing,
            "what of jobs is told; a job's own `notify` takes from it what it leaves out",
            "{ channel = \"mail\", to = \"ops@example.com\", on = [\"failed\", \"parked\"] }",
        ),
    ],
};

/// `[replica]`
pub static REPLICA: Table = Table { name: "replica", sections: &[&REPLICA_KEYS], one_of: &[] };

/// `[replica]`
pub static REPLICA_KEYS: Section = Section {
    title: "`[replica]`",
    meaning: "How each `onebell run` over this file behaves. Changed, it counts from the next start.",
    keys: &[
        key(
            "lease",
            Duration,
            Same("\"10s\""),
            "a replica that gives no sign of life for so long is lost; 1 s or more",
            "\"20s\"",
        ),
        key(
            "drain",
            Duration,
            Same("\"60s\""),
            "how long work in hand may go on after the first SIGTERM; `--drain` goes before it",
            "\"2m\"",
        ),
        key("concurrency", Whole(1, 10_000), Same("8"), "steps at once, and as many messages besides", "16"),
        key("prefetch", Whole(0, 10_000), Same("0"), "steps claimed in advance", "4"),
        key(
            "queues",
            List(&Text, 1),
            Same("[\"default\"]"),
            "queues that it serves; `--queues` goes before it",
            "[\"default\", \"heavy\"]",
        ),
        key(
            "callback_url",
            Text,
            Nothing,
            "where services outside reach replicas that run with `--listen`",
            "\"https://jobs.example.com\"",
        ),
        key("keep_runs", Duration, Same("\"30d\""), "how long finished runs are kept", "\"90d\""),
        key("keep_keys", Duration, Same("\"400d\""), "how long message and request keys are kept", "\"800d\""),
    ],
};

/// Said where the budget of messages is meant.
pub(super) const PATIENCE: super::Without =
    Said("of `[defaults]`; of messages `{ attempts = 100, backoff = \"1s..15m\", within = \"24h\" }`");
