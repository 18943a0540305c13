use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_trait::async_trait;
use onebell::handler::{Gate, Outgoing};
use onebell::model::{MessageClaim, ReplicaId};
use onebell::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, StoreError};
use onebell::time::ManualTimer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::*;

const WINDOW: Duration = Duration::from_secs(60);
const CONTENT: &[u8] = b"Subject: s\r\n\r\nt\r\n";

/// What the network does with a write.
#[derive(Clone, Copy, PartialEq)]
enum Act {
    Take,
    Fail,
    Block,
    /// Takes it, and the host sleeps for the whole window.
    Sleep,
}

/// A connection that does one thing with the content, another with the dot, and answers after the dot.
struct Network {
    content: Act,
    dot: Act,
    timer: ManualTimer,
    written: Arc<Mutex<Vec<u8>>>,
}

impl AsyncWrite for Network {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let act = if bytes == END { self.dot } else { self.content };
        match act {
            Act::Fail => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Act::Block => return Poll::Pending,
            Act::Sleep => self.timer.advance(WINDOW),
            Act::Take => {}
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Network {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.written.lock().unwrap().ends_with(END) {
            return Poll::Pending;
        }
        buffer.put_slice(b"250 2.0.0 taken\r\n");
        Poll::Ready(Ok(()))
    }
}

struct Granting;

#[async_trait]
impl RelayStore for Granting {
    async fn claim_messages(&self, _: &ClaimMessages) -> Result<Vec<ClaimedMessage>, StoreError> {
        unreachable!()
    }

    async fn held_messages(&self, _: &ReplicaId) -> Result<Vec<ClaimedMessage>, StoreError> {
        unreachable!()
    }

    async fn mark_sending(&self, _: &MessageClaim, _: Duration) -> Result<Marked, StoreError> {
        Ok(Marked::Go)
    }

    async fn settle_messages(&self, _: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>, StoreError> {
        unreachable!()
    }
}

/// What is said of the message, and what of it was written.
async fn outcome(content: Act, dot: Act) -> (Delivery, String) {
    let (timer, written) = (ManualTimer::default(), Arc::default());
    let message = Outgoing { key: "k".into(), attempt: 1, payload: String::new() };
    let gate = Gate::for_store(Arc::new(Granting), Arc::new(timer.clone()), &message, WINDOW);
    let permit = gate.open().await.unwrap();
    let wire = Wire::over(Network { content, dot, timer: timer.clone(), written: Arc::clone(&written) });
    let window_ends = async {
        if [content, dot].contains(&Act::Block) {
            while timer.sleeping() == 0 {
                tokio::task::yield_now().await;
            }
            timer.advance(WINDOW);
        }
    };
    let (delivery, ()) = tokio::join!(send(wire, CONTENT, &permit, &timer, WINDOW), window_ends);
    let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    (delivery, written)
}

#[tokio::test]
async fn the_content_the_dot_and_the_answer() {
    let (delivery, written) = outcome(Act::Take, Act::Take).await;
    assert_eq!(delivery, Delivery::Accepted { receipt: "250 2.0.0 taken".into() });
    assert_eq!(written, "Subject: s\r\n\r\nt\r\n.\r\nQUIT\r\n");
}

#[tokio::test]
async fn k12_01_a_write_that_fails_up_to_the_dot_itself_left_the_message_open() {
    for (content, dot) in [(Act::Fail, Act::Take), (Act::Block, Act::Take), (Act::Take, Act::Fail)] {
        let (delivery, written) = outcome(content, dot).await;
        assert!(matches!(delivery, Delivery::Deferred { .. }), "{delivery:?}");
        assert!(!written.contains("\r\n.\r\n"), "{written}");
        assert!(!written.contains("QUIT"), "it would be content: {written}");
    }
}

#[tokio::test]
async fn a_dot_that_was_being_written_when_the_window_ended_leaves_the_outcome_unknown() {
    let (delivery, _) = outcome(Act::Take, Act::Block).await;
    assert!(matches!(delivery, Delivery::Unknown { .. }), "{delivery:?}");
}

#[tokio::test]
async fn i9_a_host_that_slept_through_the_window_inside_the_content_does_not_write_the_dot() {
    let (delivery, written) = outcome(Act::Sleep, Act::Take).await;
    assert!(matches!(delivery, Delivery::Deferred { .. }), "{delivery:?}");
    assert_eq!(written.as_bytes(), CONTENT);
}

#[tokio::test]
async fn a_yes_that_comes_after_the_window_is_still_a_yes() {
    let (delivery, _) = outcome(Act::Take, Act::Sleep).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
}

#[test]
fn no_line_of_the_content_can_end_the_message() {
    for (content, wire) in [
        (".\r\n", "..\r\n"),
        ("a\r\n.\r\nb", "a\r\n..\r\nb\r\n"),
        ("a\n.\nb\n", "a\r\n..\r\nb\r\n"),
        ("a\r.\rb", "a\r\n..\r\nb\r\n"),
        ("a\r\n.b..\r\n..", "a\r\n..b..\r\n...\r\n"),
        ("\r\r\n\n", "\r\n\r\n\r\n"),
        ("", ""),
    ] {
        assert_eq!(String::from_utf8(stuffed(content.as_bytes())).unwrap(), wire, "{content:?}");
    }
}
