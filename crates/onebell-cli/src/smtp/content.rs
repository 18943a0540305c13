//! From the gate to the server's word on the message.

use std::time::Duration;

use onebell::handler::Permit;
use onebell::model::message::Delivery;
use onebell::time::Timer;

use super::refusal::deferred;
use super::reply::Reply;
use super::wire::{Unasked, Wire, within};

/// What ends the content; until all of it was handed over the server cannot have taken the message.
const END: &[u8] = b".\r\n";
const CHUNK: usize = 64 * 1024;

/// Writes the content and reads the answer, until `until` by `timer`.
pub(super) async fn send(mut wire: Wire, content: &[u8], permit: &Permit, timer: &dyn Timer, until: Duration) -> Delivery {
    let left = || until.saturating_sub(timer.elapsed());
    if !permit.holds() {
        return before_the_end("the send window was over before it began, was this host asleep?");
    }
    let body = async {
        for chunk in content.chunks(CHUNK) {
            wire.write(chunk).await?;
        }
        Ok(())
    };
    if let Err(broken) = within(timer, left(), body).await {
        return before_the_end(&broken.to_string());
    }
    match wire.unasked().await {
        Unasked::Nothing => {}
        Unasked::Left => return before_the_end("the server closed the connection"),
        Unasked::Spoke => return spoke_early(wire, timer, left()).await,
    }
    if !permit.holds() {
        return before_the_end("the send window was over, was this host asleep?");
    }
    let mut ended = Ok(());
    let end = async {
        ended = wire.write(END).await;
        if ended.is_ok() { wire.reply().await.map(Some) } else { Ok(None) }
    };
    match within(timer, left(), end).await {
        Ok(Some(reply)) => {
            let delivery = verdict(&reply);
            wire.leave();
            delivery
        }
        Ok(None) => before_the_end(&ended.err().map_or_else(String::new, |broken| broken.to_string())),
        Err(broken) => Delivery::Unknown { error: format!("the whole message was written, then: {broken}") },
    }
}

/// The server's word on the whole message. A `421` is a `4xx` like others: not taken.
fn verdict(reply: &Reply) -> Delivery {
    match reply.class() {
        2 => Delivery::Accepted { receipt: reply.to_string() },
        4 => deferred(format!("refused after the message: {reply}")),
        5 => Delivery::Rejected { error: format!("refused after the message: {reply}") },
        _ => {
            Delivery::Unknown { error: format!("the whole message was written, then an answer that means nothing here: {reply}") }
        }
    }
}

/// An answer that came before the message ended is no answer to it: whatever it says, the end is not written.
async fn spoke_early(mut wire: Wire, timer: &dyn Timer, left: Duration) -> Delivery {
    match within(timer, left, wire.reply()).await {
        Ok(reply) if reply.class() == 5 => Delivery::Rejected { error: format!("refused inside the message: {reply}") },
        Ok(reply) => before_the_end(&format!("the server spoke too early: {reply}")),
        Err(broken) => before_the_end(&broken.to_string()),
    }
}

fn before_the_end(what: &str) -> Delivery {
    deferred(format!("nothing was sent whole: {what}"))
}

/// The content for the wire: every line ends in CRLF, and a dot that begins a line is doubled.
pub(super) fn stuffed(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + content.len() / 64 + 2);
    let mut line_begins = true;
    let mut rest = content.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if matches!(byte, b'\r' | b'\n') {
            // A lone CR or LF ends the line too, so that no server can see another message in this one.
            rest.next_if(|next| byte == b'\r' && *next == b'\n');
            out.extend_from_slice(b"\r\n");
            line_begins = true;
            continue;
        }
        if line_begins && byte == b'.' {
            out.push(b'.');
        }
        out.push(byte);
        line_begins = false;
    }
    if !line_begins {
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[cfg(test)]
mod tests;
