//! What the kinds of steps need, but for messages.

use super::Shape::{ByName, Either, Flag, List, Name, Table as Keys, Text, Whole, Word};
use super::Without::{Nothing, Refused, Said, Same};
use super::channels::{ALLOW_HOSTS, CA_FILE, PROXY, SIGNED};
use super::jobs::INPUT;
use super::messages::{BODY, BODY_FILE, CONTENT_TYPE, JSON, JSON_FILE};
use super::values::{ARGV, NAMES, SECRET_VALUE, URL_OR_REQUEST};
use super::{EXIT_CODES, SQL_SHAPE, Section, Table, key, words};
use crate::jobfile::kind::METHODS;

/// `command`
pub static COMMAND_KEYS: Section = Section {
    title: "`command`",
    meaning: "A program under a keeper; no template. Rows for later steps are what it writes to the file `$ONEBELL_OUTPUT`: JSON objects, \
              one a line, or an array of them. What it prints is kept for people. It knows its slot, its key and its attempt by \
              `$ONEBELL_SCHEDULED_FOR`, `$ONEBELL_IDEMPOTENCY_KEY` and `$ONEBELL_ATTEMPT`.",
    keys: &[
        key(
            "command",
            Either(ARGV),
            Nothing,
            "program and arguments, never through a shell; one text with `shell`",
            "[\"./print.sh\", \"--all\"]",
        ),
        key("shell", Flag, Same("false"), "`command` is one text for `/bin/sh -c`", "false"),
        key(
            "env",
            ByName(&SECRET_VALUE),
            Nothing,
            "variables over the replica's own; names that begin with `ONEBELL_` are refused",
            "{ PRINTER = \"third-floor\", TOKEN = { env = \"PRINT_TOKEN\" } }",
        ),
        key("cwd", Name, Said("the job file's folder"), "working folder", "\"print\""),
        key(
            "exit_codes",
            Keys(&EXIT_CODES),
            Nothing,
            "codes that mean something else than usual",
            "{ permanent = [3], retry = [65] }",
        ),
        INPUT,
        key(
            "output_cap",
            Whole(0, 16 * 1024 * 1024),
            Same("65536"),
            "bytes kept of each stream: half from its beginning, half from its end",
            "131072",
        ),
    ],
};

/// `http`
pub static HTTP_KEYS: Section = Section {
    title: "`http`",
    meaning: "A request, made once for all rows. Its templates see `rows`, `run`, `job` and `step`; a header from a variable is the \
              variable's whole value, such as `Bearer …`.",
    keys: &[
        key(
            "http",
            Either(URL_OR_REQUEST),
            Nothing,
            "a URL to GET, or a request",
            "{ url = \"https://ledger.example.com/close\", method = \"POST\" }",
        ),
        INPUT,
    ],
};

/// `http = { … }`
pub static REQUEST: Table = Table { name: "request", sections: &[&REQUEST_KEYS], one_of: &[] };

/// `http = { … }`
pub static REQUEST_KEYS: Section = Section {
    title: "`http = { … }`",
    meaning: "At most one of `json`, `json_file`, `body` and `body_file`.",
    keys: &[
        key(
            "url",
            Text,
            Refused,
            "a template; a template in the host needs `allow_hosts`",
            "\"https://ledger.example.com/periods/{{ run.scheduled_for }}\"",
        ),
        key("method", Word(|| words(METHODS)), Said("`POST` with a body, else `GET`"), "of the request", "\"PUT\""),
        JSON,
        JSON_FILE,
        BODY,
        BODY_FILE,
        CONTENT_TYPE,
        key("headers", ByName(&SECRET_VALUE), Nothing, "templates or secrets", "{ Authorization = { env = \"LEDGER_TOKEN\" } }"),
        SIGNED,
        key("expect", STATUSES, Said("every `2xx`"), "statuses that mean done", "[200, 204]"),
        key("retry_on", STATUSES, Nothing, "statuses that mean again, besides the usual", "[409]"),
        key("permanent_on", STATUSES, Nothing, "statuses that mean failed, besides the usual", "[501]"),
        key("output", Flag, Same("false"), "the answer's rows become the step's", "true"),
        key(
            "callback",
            Flag,
            Same("false"),
            "`202` means that the service calls back; needs `secret`, and `callback_url` under `[replica]`",
            "true",
        ),
        CA_FILE,
        PROXY,
        ALLOW_HOSTS,
    ],
};

const STATUSES: super::Shape = List(&Whole(200, 599), 0);

/// `sql`
pub static SQL_KEYS: Section = Section {
    title: "`sql`",
    meaning: "Statements inside the transaction that settles the step.",
    keys: &[key("sql", Either(SQL_SHAPE), Nothing, "the statements", "{ file = \"pull.sql\" }")],
};

/// `apply`
pub static APPLY_KEYS: Section = Section {
    title: "`apply`",
    meaning: "Records, once each.",
    keys: &[key(
        "apply",
        Keys(&RECORDS),
        Nothing,
        "which records, and what becomes of them",
        "{ file = \"in/*.csv\", scope = \"payments\", id = \"event_id\" }",
    )],
};

/// `apply = { … }`
pub static RECORDS: Table =
    Table { name: "records", sections: &[&RECORDS_KEYS], one_of: &["file", "url", "command", "query", "output_of"] };

/// `apply = { … }`
pub static RECORDS_KEYS: Section = Section {
    title: "`apply = { … }`",
    meaning: "Exactly one source: `file`, `url`, `command`, `query` or `output_of`.",
    keys: &[
        key("file", Name, Nothing, "CSV or NDJSON, also `.gz` or `.zst`; a pattern names several", "\"in/*.csv\""),
        key("url", Text, Nothing, "an address that answers with records", "\"https://shop.example.com/orders.ndjson\""),
        key("command", List(&Text, 1), Nothing, "a program that prints records", "[\"./fetch\", \"--all\"]"),
        key("query", Either(SQL_SHAPE), Nothing, "a reading query on the same database", "\"SELECT id AS event_id FROM inbox\""),
        key("output_of", Name, Nothing, "the rows of an earlier step", "\"fetch\""),
        key("scope", Name, Refused, "what the identities are unique in", "\"payments\""),
        key("id", Either(NAMES), Refused, "the fields that identify a record", "[\"bank\", \"number\"]"),
        key("amount", Name, Nothing, "the field with the amount", "\"amount\""),
        key("scale", Whole(0, 18), Same("0"), "decimal places of the amount: 2 for EUR", "2"),
        key(
            "sql",
            Either(SQL_SHAPE),
            Nothing,
            "statements over the relation `chunk`, in the same transaction",
            "{ file = \"pay.sql\" }",
        ),
        key("fail_if", Text, Nothing, "records for which it holds are kept as failed", "\"amount < 0\""),
        key("chunk", Whole(1, 100_000), Same("1000"), "records committed together", "500"),
        key("atomic", Flag, Same("false"), "all records of a source or none", "true"),
        key("max_rejected", Whole(0, i64::MAX), Said("any number"), "more rejected records fail the step", "100"),
        key("source", Name, Said("the file's path"), "name of the source", "\"daily\""),
        key("format", Word(|| words(&["csv", "ndjson"])), Said("by the file's name"), "what the records are", "\"csv\""),
        key("delimiter", Text, Said("a comma; a tab for `.tsv`"), "one character between the fields of a CSV row", "\";\""),
        key(
            "allow_no_file",
            Flag,
            Same("false"),
            "a pattern that names no file is nothing to do; else the step waits for one and is tried again",
            "true",
        ),
        key("accept_last_line", Flag, Same("false"), "a last line without a line end is taken", "true"),
    ],
};
