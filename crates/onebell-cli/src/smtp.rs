//! The mail channel: one message, one recipient, at most once.
//!
//! Everything up to the server's `354` happens before the gate; the content goes out only after it, and the final dot only
//! while the permit holds. Mail has no receiver that dedupes, so what counts is to know, of every failure, whether the
//! server can have taken the message:
//!
//! | seen | answer |
//! |---|---|
//! | no connection, TLS or login failed, silence, `421`, `4xx` before the content | `Deferred` |
//! | `5xx` to `MAIL`, `RCPT` or `DATA` | `Rejected` |
//! | `5xx` that is about this channel (greeting, `EHLO`, `STARTTLS`, `AUTH`, `530 534 535 538`) | `Deferred`: the message is fine |
//! | the payload is no mail | `Rejected` |
//! | the gate says no | `GivenBack`, the connection is dropped inside `DATA` |
//! | broken, silent or out of time before the final dot was handed over | `Deferred` |
//! | `2xx`, `4xx`, `5xx` to the final dot | `Accepted`, `Deferred`, `Rejected` |
//! | anything else after the final dot | `Unknown` |
//!
//! The protocol is spoken here, over tokio; lettre checks addresses and builds the MIME parts. Its own connection could wait
//! between `354` and the content, but does not say whether the dot had left when a write fails, takes bytes that came before
//! STARTTLS for an answer from inside TLS, and refuses a bare `250`.
//!
//! What it does not do: keep connections open between messages, sign (let the relay do it), send to several recipients at
//! once, decide what an unknown outcome means.

mod approach;
mod channel;
mod config;
mod content;
mod header;
mod letter;
mod person;
mod refusal;
mod reply;
mod tls;
mod wire;

pub use channel::SmtpChannel;
pub use config::{Secret, SmtpConfig, SmtpConfigError, Tls, is_loopback};
pub use letter::{Mail, message_id, render_check};
pub use person::Person;

/// Every answer in what a server said, up to the first that is none, as code and words: a door for those who attack the
/// reader.
#[doc(hidden)]
pub fn answers(bytes: &[u8]) -> Vec<(u16, String)> {
    let said = std::io::Cursor::new(bytes.to_vec());
    let mut wire = wire::Wire::over(tokio::io::join(said, tokio::io::sink()));
    let mut answers = Vec::new();
    // Bytes that are there already keep nobody waiting.
    while let Some(Ok(reply)) = futures_util::FutureExt::now_or_never(wire.reply()) {
        answers.push((reply.code, reply.to_string()));
    }
    answers
}
