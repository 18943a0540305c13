//! Who may import whom, and why. The rooms are those of ARCHITECTURE.md; change a rule here only together with it.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Root,
    Model,
    Port,
    Sqlite,
    Postgres,
    Roles,
    Handler,
    Time,
    Fault,
    Replica,
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "the crate's root",
            Self::Model => "model",
            Self::Port => "the store's port",
            Self::Sqlite => "store/sqlite",
            Self::Postgres => "store/postgres",
            Self::Roles => "roles",
            Self::Handler => "handler",
            Self::Time => "time",
            Self::Fault => "fault",
            Self::Replica => "replica",
        })
    }
}

pub(crate) struct Rule {
    pub(crate) room: Room,
    pub(crate) rooms: &'static [Room],
    /// Other crates, or parts of them; none: any.
    pub(crate) crates: Option<&'static [&'static str]>,
    /// Parts of those that are refused after all.
    pub(crate) except: &'static [&'static str],
    pub(crate) why: &'static str,
}

const OUTSIDE_WORLD: &[&str] = &["std::fs", "std::net", "std::process", "std::thread", "std::env", "std::os"];

pub(crate) const RULES: &[Rule] = &[
    Rule {
        room: Room::Model,
        rooms: &[],
        crates: Some(&["std", "core", "serde", "jiff", "croner", "sha2", "thiserror", "unicode_normalization"]),
        except: &[
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::env",
            "std::os",
            "std::time::SystemTime",
            "std::time::Instant",
            "std::hash::RandomState",
            "std::collections::hash_map::RandomState",
            "jiff::tz::TimeZone::get",
            "jiff::tz::TimeZone::system",
            "jiff::tz::db",
        ],
        why: "the model is values and decisions: no I/O, no async, no clock, no randomness; zone data is handed in",
    },
    Rule {
        room: Room::Port,
        rooms: &[Room::Model],
        crates: Some(&["std", "serde", "thiserror", "async_trait"]),
        except: OUTSIDE_WORLD,
        why: "the port says what a store promises, in the model's words; a database's types stay in its own folder",
    },
    Rule {
        room: Room::Handler,
        rooms: &[Room::Model, Room::Port, Room::Time],
        crates: Some(&["std", "async_trait", "serde", "serde_json", "thiserror", "tracing", "futures_util", "tokio::sync"]),
        except: OUTSIDE_WORLD,
        why: "users implement a handler against the model and the port, on whichever database and runtime edge",
    },
    Rule {
        room: Room::Roles,
        rooms: &[Room::Model, Room::Port, Room::Handler, Room::Time, Room::Fault],
        // Zone data is loaded at the edge and handed to the Scheduler.
        crates: Some(&[
            "std",
            "tracing",
            "futures_util",
            "async_trait",
            "thiserror",
            "tokio::sync",
            "jiff::tz::TimeZoneDatabase",
        ]),
        except: OUTSIDE_WORLD,
        why: "a role is one pass over the port: loops, tasks and sleeps belong to the replica edge, and roles meet only in the store",
    },
    Rule {
        room: Room::Time,
        rooms: &[Room::Model],
        crates: Some(&["std", "async_trait", "jiff", "rustix", "tokio::sync", "tokio::time", "futures_util", "tracing"]),
        except: &["std::fs", "std::net", "std::process", "std::env"],
        why: "clocks and timers know of nothing but instants",
    },
    Rule {
        room: Room::Fault,
        rooms: &[],
        crates: Some(&["std", "tracing", "rustix"]),
        except: &[],
        why: "a fault point must not depend on what it breaks",
    },
    Rule {
        room: Room::Sqlite,
        rooms: &[Room::Model, Room::Port, Room::Time, Room::Fault],
        crates: Some(&[
            "std",
            "rusqlite",
            "serde",
            "serde_json",
            "thiserror",
            "async_trait",
            "tracing",
            "futures_util",
            "sha2",
            "rustix",
            "tokio",
        ]),
        except: &[],
        why: "a backend knows the model and the port, never the other backend nor who calls it",
    },
    Rule {
        room: Room::Postgres,
        rooms: &[Room::Model, Room::Port, Room::Time, Room::Fault],
        crates: Some(&[
            "std",
            "tokio_postgres",
            "deadpool_postgres",
            "tokio_postgres_rustls",
            "rustls",
            "serde",
            "serde_json",
            "thiserror",
            "async_trait",
            "tracing",
            "futures_util",
            "sha2",
            "tokio",
        ]),
        except: &[],
        why: "a backend knows the model and the port, never the other backend nor who calls it",
    },
];

/// Files of `roles/` that are no role and that roles may share, each with its reason. It is better empty.
pub(crate) const SHARED_BY_ROLES: &[(&str, &str)] = &[];
