//! `[channels.NAME]`.

use super::Shape::{ByName, Duration, Either, List, Name, Table as Keys, Text, Whole, Word};
use super::Without::{Nothing, Refused, Said, Same};
use super::{Key, SECRET_SHAPE, Section, Shape, Table, key, words};
use crate::jobfile::settings::{Tls, http::METHODS};

/// A channel of either kind: what the reader opens before it knows which.
pub static CHANNEL: Table = Table { name: "channel", sections: &[&SMTP_KEYS, &HOOK_KEYS], one_of: &[] };

/// A channel of one kind.
pub static CHANNEL_SHAPE: Shape = Either(&[Keys(&SMTP), Keys(&HOOK)]);

/// `kind = "smtp"`
pub static SMTP: Table = Table { name: "smtp", sections: &[&SMTP_KEYS], one_of: &[] };

/// `kind = "http"`
pub static HOOK: Table = Table { name: "webhooks", sections: &[&HOOK_KEYS], one_of: &[] };

/// `kind = "smtp"`
pub static SMTP_KEYS: Section = Section {
    title: "`[channels.NAME]` for mail",
    meaning: "`kind = \"smtp\"`: a mail server.",
    keys: &[
        key("kind", Word(|| words(&["smtp"])), Refused, "mail", "\"smtp\""),
        key("host", Name, Refused, "name or address of the server", "\"mail.example.com\""),
        key("port", Whole(1, 65_535), Said("by `tls`: 465 for `tls`, 587 for `starttls`, else 25"), "its port", "587"),
        key("from", Text, Refused, "the sender, with or without a name", "\"Billing <billing@example.com>\""),
        key("username", Name, Said("the sender's address, if there is a password"), "for the login", "\"billing\""),
        key("password", SECRET, Said("no login"), "for the login", "{ env = \"SMTP_PASSWORD\" }"),
        key(
            "tls",
            Word(|| words(Tls::ALL)),
            Said("`tls` on port 465; `opportunistic` on this host; else `starttls`"),
            "how the connection is protected",
            "\"starttls\"",
        ),
        key("hello", Name, Said("the connection's own address"), "what this side calls itself (EHLO)", "\"jobs.example.com\""),
        CA_FILE,
        key("window", Duration, Same("\"60s\""), "how long the content and its answer may take", "\"90s\""),
        key("timeout", Duration, Same("\"30s\""), "for the connection and each answer before the content", "\"20s\""),
    ],
};

/// `kind = "http"`
pub static HOOK_KEYS: Section = Section {
    title: "`[channels.NAME]` for webhooks",
    meaning: "`kind = \"http\"`: an address that is told.",
    keys: &[
        key("kind", Word(|| words(&["http"])), Refused, "webhooks", "\"http\""),
        key(
            "url",
            SECRET,
            Refused,
            "where every message of this channel goes; of a secret one only the host is shown",
            "\"https://ops.example.com/hooks\"",
        ),
        key("method", Word(|| words(METHODS)), Same("\"POST\""), "of the request", "\"PUT\""),
        SIGNED,
        key("headers", ByName(&SECRET), Nothing, "sent with each message", "{ Authorization = { env = \"OPS_TOKEN\" } }"),
        CA_FILE,
        PROXY,
        ALLOW_HOSTS,
        key(
            "ask",
            Text,
            Said("not asked"),
            "where the receiver tells whether a message arrived",
            "\"https://ops.example.com/arrived/{{ key }}\"",
        ),
        key("window", Duration, Same("\"30s\""), "how long the request and its answer may take", "\"20s\""),
        key("timeout", Duration, Same("\"10s\""), "for the connection, and the answer to a question; at most 25 s", "\"5s\""),
    ],
};

const SECRET: Shape = Either(SECRET_SHAPE);

/// As a request has it too.
pub(super) const SIGNED: Key =
    key("secret", SECRET, Said("unsigned"), "signs by the Standard Webhooks specification", "{ file = \"/run/secrets/hook\" }");
/// As a request has it too.
pub(super) const CA_FILE: Key =
    key("ca_file", Name, Said("the system's roots"), "certificates (PEM) to trust in place of the system's", "\"ca.pem\"");
/// As a request has it too.
pub(super) const PROXY: Key = key("proxy", Text, Nothing, "a plain HTTP proxy", "\"http://proxy.example.com:3128\"");
/// As a request has it too.
pub(super) const ALLOW_HOSTS: Key = key(
    "allow_hosts",
    List(&Text, 1),
    Said("all hosts"),
    "nobody else is reached; `*.example.com` for all below it",
    "[\"*.example.com\"]",
);
