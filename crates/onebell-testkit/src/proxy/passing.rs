//! One connection through the proxy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::{Loss, Order, Shared, lock};

/// What the way from the client tells the way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Back {
    /// Pass everything.
    Open,
    /// Keep everything until the server has answered, then end.
    Swallow,
    /// Keep everything, for ever.
    Nothing,
}

/// Passes messages until one side ends, a fault ends it, or somebody says so.
pub(super) async fn pass(client: UnixStream, server: UnixStream, shared: Arc<Shared>) {
    let mut orders = shared.order.subscribe();
    // Only what is said from now on counts: this connection is new.
    orders.mark_unchanged();
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let back = watch::Sender::new(Back::Open);
    let spared = watch::Sender::new(false);
    let ways = async {
        tokio::select! {
            () = forth(client_read, server_write, &shared, (&back, &spared)) => {}
            () = home(server_read, client_write, &shared, (back.subscribe(), &spared)) => {}
        }
    };
    tokio::pin!(ways);
    tokio::select! {
        () = &mut ways => {}
        changed = orders.changed() => {
            let order = orders.borrow().1;
            if changed.is_ok() && order != Order::GoOn {
                shared.hits.fetch_add(1, Ordering::SeqCst);
                if order == Order::Freeze {
                    let mut under_way = spared.subscribe();
                    tokio::select! {
                        () = &mut ways => return,
                        _ = under_way.wait_for(|under_way| !under_way) => {}
                    }
                    // Both ends stay open, and nobody reads.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

/// Cuts a stream of bytes into messages: a letter (not in the first one), the length, the content.
struct Messages {
    bytes: Vec<u8>,
    first: bool,
}

impl Messages {
    fn begin(first: bool) -> Self {
        Self { bytes: Vec::new(), first }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let begin = usize::from(!self.first);
        let length: [u8; 4] = self.bytes.get(begin..begin + 4)?.try_into().ok()?;
        let end = begin + u32::from_be_bytes(length) as usize;
        if self.bytes.len() < end {
            return None;
        }
        self.first = false;
        let rest = self.bytes.split_off(end);
        Some(std::mem::replace(&mut self.bytes, rest))
    }
}

#[expect(clippy::disallowed_methods, reason = "latency is real time here, and this kit knows nothing of a Timer")]
async fn wait(latency: Duration) {
    tokio::time::sleep(latency).await;
}

/// From the client to the server.
async fn forth(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    (back, spared): (&watch::Sender<Back>, &watch::Sender<bool>),
) {
    let mut messages = Messages::begin(true);
    while from.read_buf(&mut messages.bytes).await.is_ok_and(|read| read > 0) {
        let latency = *lock(&shared.latency);
        if !latency.is_zero() {
            shared.delayed.fetch_add(1, Ordering::SeqCst);
            wait(latency).await;
        }
        while let Some(message) = messages.next() {
            let loss = lost(&message, shared);
            if loss == Some(Loss::Question) {
                return;
            }
            match loss {
                Some(Loss::Answer) => drop(back.send_replace(Back::Swallow)),
                Some(Loss::Silence) => drop(back.send_replace(Back::Nothing)),
                _ => {}
            }
            if is_spared(&message, shared) {
                spared.send_replace(true);
            }
            if to.write_all(&message).await.is_err() {
                return;
            }
            if let Some(Loss::Answer | Loss::Silence) = loss {
                // The server's answer ends it, or nothing does.
                std::future::pending::<()>().await;
            }
        }
    }
}

fn is_spared(message: &[u8], shared: &Shared) -> bool {
    let spared = lock(&shared.spared);
    spared.as_ref().is_some_and(|text| message.windows(text.len()).any(|part| part == text))
}

fn lost(message: &[u8], shared: &Shared) -> Option<Loss> {
    if message.first() != Some(&b'Q') || message.get(5..) != Some(b"COMMIT\0") {
        return None;
    }
    let (nth, loss) = (*lock(&shared.plan))?;
    let commits = shared.commits.fetch_add(1, Ordering::SeqCst) + 1;
    commits.is_multiple_of(nth).then(|| {
        shared.hits.fetch_add(1, Ordering::SeqCst);
        loss
    })
}

/// From the server to the client.
async fn home(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    shared: &Shared,
    (back, spared): (watch::Receiver<Back>, &watch::Sender<bool>),
) {
    let mut messages = Messages::begin(false);
    let mut said = 0_u64;
    while from.read_buf(&mut messages.bytes).await.is_ok_and(|read| read > 0) {
        while let Some(message) = messages.next() {
            count_refusal(&message, shared);
            let back = *back.borrow();
            match (back, message[0]) {
                (Back::Open, _) => {}
                (Back::Swallow, b'Z') => return,
                (Back::Swallow | Back::Nothing, _) => continue,
            }
            said += message.len() as u64;
            if said > shared.cut_after.load(Ordering::SeqCst) {
                shared.hits.fetch_add(1, Ordering::SeqCst);
                drop(to.write_all(&message[..message.len() / 2]).await);
                return;
            }
            if to.write_all(&message).await.is_err() {
                return;
            }
            if message[0] == b'Z' {
                spared.send_replace(false);
            }
        }
    }
}

/// Errors carry fields: a letter, a text, a zero; `C` is the SQLSTATE.
fn count_refusal(message: &[u8], shared: &Shared) {
    if message[0] != b'E' {
        return;
    }
    let fields = message[5..].split(|byte| *byte == 0);
    let code = fields.filter_map(|field| field.strip_prefix(b"C")).next();
    if let Some(code) = code.and_then(|code| std::str::from_utf8(code).ok()) {
        *lock(&shared.refused).entry(code.to_owned()).or_default() += 1;
    }
}
