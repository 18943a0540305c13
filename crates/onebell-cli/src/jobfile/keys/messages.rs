//! `message`: mails and webhooks.

use super::Shape::{ByName, Either, Name, Table as Keys, Text, Word};
use super::Without::{Nothing, Refused, Said, Same};
use super::{Key, SQL_SHAPE, Section, Shape, Table, key, words};
use onebell::model::job::OnMessageFailed;
use onebell::model::message::InDoubtPolicy;

/// `message`
pub static MESSAGE_KEYS: Section = Section {
    title: "`message`",
    meaning: "A mail or a webhook for each row of `for_each`; without it one. Templates see `row`, `run` (`id`; `input`; \
              `scheduled_for`, in UTC, and null on request), `job` and `step`, and the filters of Jinja that need no clock.",
    keys: &[
        key(
            "message",
            Either(&[Keys(&MAIL), Keys(&WEBHOOK)]),
            Nothing,
            "what is sent; the channel's kind decides its keys",
            "{ channel = \"mail\", key = \"hello/{{ run.id }}\", to = \"a@example.com\", subject = \"Hello\", text = \"Hello!\" }",
        ),
        key(
            "for_each",
            Keys(&ROWS),
            Said("one message, with an empty row"),
            "where rows come from",
            "{ csv = \"customers.csv\" }",
        ),
        key(
            "on_in_doubt",
            Word(|| words(InDoubtPolicy::ALL)),
            Said("`hold` for mail, `resend` for webhooks"),
            "a send whose outcome is unknown",
            "\"hold\"",
        ),
        key(
            "on_message_failed",
            Word(|| words(OnMessageFailed::ALL)),
            Same("\"continue\""),
            "whether a message that failed for good fails the step",
            "\"fail\"",
        ),
    ],
};

/// `message = { … }`: what the reader opens before it knows the channel's kind.
pub static MESSAGE: Table = Table { name: "message", sections: &[&MAIL_KEYS, &WEBHOOK_KEYS], one_of: &[] };

/// To a channel of mail.
pub static MAIL: Table = Table { name: "mail", sections: &[&MAIL_KEYS], one_of: &["text", "text_file"] };

/// To a channel of webhooks.
pub static WEBHOOK: Table =
    Table { name: "webhook", sections: &[&WEBHOOK_KEYS], one_of: &["json", "json_file", "body", "body_file"] };

/// To a channel of mail.
pub static MAIL_KEYS: Section = Section {
    title: "`message = { … }` for mail",
    meaning: "To a channel of kind `smtp`. Values are templates; exactly one of `text` and `text_file`.",
    keys: &[
        key("channel", Name, Refused, "a name under `[channels]`", "\"mail\""),
        MESSAGE_KEY,
        key("to", Text, Refused, "one address, with or without a name", "\"{{ row.email }}\""),
        key("subject", Text, Refused, "one line", "\"Your statement\""),
        key("text", Text, Nothing, "the text", "\"You owe {{ row.cents | int // 100 }} euros.\""),
        key("text_file", Name, Nothing, "the same from a file, which is read when the job file is", "\"reminder.txt\""),
        key("html", Text, Nothing, "the same as HTML, beside the text; what it prints is escaped", "\"<p>Hello</p>\""),
        key("html_file", Name, Nothing, "the same from a file", "\"reminder.html\""),
        key("reply_to", Text, Nothing, "one address", "\"Help <help@example.com>\""),
        key("headers", ByName(&Text), Nothing, "further headers", "{ List-Id = \"statements.example.com\" }"),
    ],
};

/// To a channel of webhooks.
pub static WEBHOOK_KEYS: Section = Section {
    title: "`message = { … }` for webhooks",
    meaning: "To a channel of kind `http`. Values are templates; exactly one of `json`, `json_file`, `body` and `body_file`.",
    keys: &[
        key("channel", Name, Refused, "a name under `[channels]`", "\"ops\""),
        MESSAGE_KEY,
        JSON,
        JSON_FILE,
        BODY,
        BODY_FILE,
        CONTENT_TYPE,
        key("headers", ByName(&Text), Nothing, "headers over the channel's", "{ X-Job = \"{{ job }}\" }"),
    ],
};

const MESSAGE_KEY: Key = key("key", Text, Refused, "identity of the message", "\"statement/{{ run.id }}\"");

/// As a request has it too.
pub(super) const JSON: Key = key("json", Text, Nothing, "a template that prints JSON", "'{\"at\": {{ run.scheduled_for }}}'");
/// As a request has it too.
pub(super) const JSON_FILE: Key = key("json_file", Name, Nothing, "the same from a file", "\"hook.json\"");
/// As a request has it too.
pub(super) const BODY: Key = key("body", Text, Nothing, "a template for anything else", "\"run {{ run.id }}\"");
/// As a request has it too.
pub(super) const BODY_FILE: Key = key("body_file", Name, Nothing, "the same from a file", "\"hook.txt\"");
/// As a request has it too.
pub(super) const CONTENT_TYPE: Key = key(
    "content_type",
    Text,
    Said("`application/json`; of a `body` `text/plain; charset=utf-8`"),
    "of what is sent",
    "\"application/cloudevents+json\"",
);

/// `for_each = { … }`
pub static ROWS: Table = Table { name: "rows", sections: &[&ROWS_KEYS], one_of: &["output_of", "csv", "ndjson", "sql"] };

/// `for_each = { … }`
pub static ROWS_KEYS: Section = Section {
    title: "`for_each = { … }`",
    meaning: "Exactly one source of rows.",
    keys: &[
        key("output_of", Text, Nothing, "the rows of an earlier `command`, `http` or `sql` step", "\"print\""),
        key("csv", Name, Nothing, "a file with a header line, on every replica", "\"customers.csv\""),
        key("ndjson", Name, Nothing, "a file with one JSON object per line", "\"customers.ndjson\""),
        key("sql", Shape::Either(SQL_SHAPE), Nothing, "a reading query", "\"SELECT email FROM customers\""),
    ],
};
