//! `onebell outbox`: messages, the in-doubt ones first.

use onebell::model::shown::shell_word;
use onebell::store::{self as port, MessageFilter, MessageView};

use super::act::told;
use super::{actor, store};
use crate::answer::{Answer, Failure, Table, cell, json, line};
use crate::args::{Common, Format, MessageVerdict, Outbox};

/// Lists, shows or decides.
pub async fn outbox(common: &Common, args: Outbox) -> Answer {
    match args {
        Outbox::List { status, run, limit } => list(common, &MessageFilter { status, run, limit }).await,
        Outbox::Show { key } => show(common, &key).await,
        Outbox::Resolve { key, verdict, acting } => {
            let verdict = match verdict {
                MessageVerdict::Sent => port::MessageVerdict::Sent,
                MessageVerdict::Resend => port::MessageVerdict::Resend,
                MessageVerdict::Drop => port::MessageVerdict::Drop,
            };
            let acted = store(common).await?.resolve_message(&key, verdict, &actor(&acting)).await?;
            told(acted, &format!("message {key}"), &format!("resolved as {verdict}"))
        }
    }
}

async fn list(common: &Common, filter: &MessageFilter) -> Answer {
    let messages = store(common).await?.messages(filter).await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "messages": messages }));
    }
    let mut table = Table::new(["key", "status", "channel", "tries", "changed", "note"]);
    for message in messages {
        let changed = cell(message.finished_at.or(message.sending_at).or(message.ready_at));
        table.row([
            message.key,
            message.status,
            message.channel,
            message.tries.to_string(),
            changed,
            message.note.unwrap_or_default(),
        ]);
    }
    if table.is_empty() {
        line("no such message")
    } else {
        table.print()
    }
    Ok(())
}

async fn show(common: &Common, key: &str) -> Answer {
    let found = store(common).await?.message(key).await?;
    let message = found.ok_or_else(|| Failure::usage(format!("no message {key:?}; see: onebell outbox list")))?;
    if common.format == Format::Json {
        return json(&message);
    }
    describe(&message);
    Ok(())
}

fn describe(message: &MessageView) {
    let promise = match (message.on_in_doubt.as_str(), message.resent) {
        ("resend", _) | (_, true) => "at least once, always with this key",
        _ => "at most once; an unknown outcome is kept as in doubt",
    };
    line(format!("{}  {}", message.key, message.status));
    line(format!("channel {}  attempt {}  tries {}  promise: {promise}", message.channel, message.attempt, message.tries));
    line(format!("run {}  step {}", cell(message.run.as_ref()), cell(message.step.as_ref())));
    line(format!("created {}  sending {}  finished {}", message.created_at, cell(message.sending_at), cell(message.finished_at)));
    if let Some(note) = &message.note {
        line(format!("note {note}"));
    }
    line(format!("payload {}", message.payload));
    if message.status == "in_doubt" {
        line(format!(
            "nobody can know whether it arrived. Ask the receiver, then: onebell outbox resolve {} --as sent, resend or drop",
            shell_word(&message.key)
        ));
    }
}
