//! Bytes that a task brings to the reading thread, a few pieces ahead and no more: what comes from a network or a program.
//!
//! The end is told, never guessed from silence: a task that died in the middle would look like a source that is through.

use std::fmt;
use std::future::Future;
use std::io::{self, Read};

use hyper::body::{Buf, Bytes};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Pieces that wait. Whoever brings them keeps each below 64 KiB or so.
const PIECES_AHEAD: usize = 4;

/// A piece; none: that was all.
type Piece = io::Result<Option<Bytes>>;

/// What another try would not mend; carried by an [`io::Error`].
#[derive(Debug)]
pub(super) struct Final(String);

impl fmt::Display for Final {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Final {}

/// Bytes could not be had, and another try would end the same way.
pub(crate) fn never(why: impl Into<String>) -> io::Error {
    io::Error::other(Final(why.into()))
}

/// The reading thread's side.
pub(crate) struct Brought {
    begin: Option<oneshot::Sender<()>>,
    pieces: mpsc::Receiver<Piece>,
    rest: Bytes,
    over: bool,
}

/// The side of whoever wants the bytes. When it is dropped, what brings them is to end.
pub struct Bringing {
    wanted: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// Where the task leaves what it brings.
pub(crate) struct Pieces {
    into: mpsc::Sender<Piece>,
    wish: Wish,
}

/// Whether anybody wants more.
#[derive(Clone)]
pub(crate) struct Wish(watch::Receiver<()>);

/// Begins to carry out `bring` when the first byte is asked for. Must be called inside a tokio runtime.
pub(crate) fn brought<F>(bring: impl FnOnce(Pieces) -> F + Send + 'static) -> (Brought, Bringing)
where
    F: Future<Output = io::Result<()>> + Send,
{
    let (begin, begun) = oneshot::channel();
    let (into, pieces) = mpsc::channel(PIECES_AHEAD);
    let (wanted, wish) = watch::channel(());
    let given = Pieces { into: into.clone(), wish: Wish(wish) };
    let task = tokio::spawn(async move {
        if begun.await.is_ok() {
            let end = bring(given).await;
            // Nobody listens any longer if this is not received.
            drop(into.send(end.map(|()| None)).await);
        }
    });
    (Brought { begin: Some(begin), pieces, rest: Bytes::new(), over: false }, Bringing { wanted, task })
}

impl Pieces {
    /// Leaves a piece, as soon as there is room. False: nobody wants it.
    pub(crate) async fn leave(&mut self, piece: Bytes) -> bool {
        tokio::select! {
            biased;
            () = self.wish.gone() => false,
            left = self.into.send(Ok(Some(piece))) => left.is_ok(),
        }
    }

    /// To be asked while something else is waited for.
    pub(crate) fn wish(&self) -> Wish {
        self.wish.clone()
    }
}

impl Wish {
    /// Returns when nobody wants more.
    pub(crate) async fn gone(&mut self) {
        // Nothing is ever sent: its other end goes.
        while self.0.changed().await.is_ok() {}
    }
}

impl Bringing {
    /// Nobody wants more; returns when what brought it is over. The reader has to be gone.
    pub(crate) async fn end(self) {
        drop(self.wanted);
        // It panicked: then it is over too.
        drop(self.task.await);
    }
}

impl Read for Brought {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.over {
            if let Some(begin) = self.begin.take() {
                // A task that is gone shows where its pieces are awaited.
                let _gone = begin.send(());
            }
            match self.pieces.blocking_recv() {
                Some(Ok(Some(piece))) => self.rest = piece,
                Some(Ok(None)) => self.over = true,
                Some(Err(error)) => return Err(error),
                None => return Err(io::Error::other("what brings it ended before it did")),
            }
        }
        let count = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(mut brought: Brought) -> io::Result<Vec<u8>> {
        let read = move || {
            let mut all = Vec::new();
            brought.read_to_end(&mut all).map(|_| all)
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    }

    #[tokio::test]
    async fn pieces_come_in_order_and_the_end_is_told() {
        let (reader, bringing) = brought(|mut pieces| async move {
            for piece in [&b"ab"[..], b"", b"c"] {
                assert!(pieces.leave(Bytes::from_static(piece)).await);
            }
            Ok(())
        });
        assert_eq!(read(reader).await.unwrap(), b"abc");
        bringing.end().await;
    }

    #[tokio::test]
    async fn a_task_that_dies_in_the_middle_is_not_taken_for_the_end() {
        let (reader, bringing) = brought(|mut pieces| async move {
            pieces.leave(Bytes::from_static(b"ab")).await;
            panic!("in the middle");
        });
        assert!(read(reader).await.unwrap_err().to_string().contains("ended before it did"));
        bringing.end().await;
    }

    #[tokio::test]
    async fn nothing_begins_before_it_is_asked_for_and_nothing_goes_on_when_it_is_not_wanted() {
        let (reader, bringing) = brought(|_| async { panic!("begun") });
        drop(reader);
        bringing.end().await;
        let (told, mut hears) = mpsc::unbounded_channel();
        let (mut reader, bringing) = brought(|mut pieces| async move {
            while pieces.leave(Bytes::from_static(b"x")).await {
                told.send(()).unwrap();
            }
            Ok(())
        });
        let reader = tokio::task::spawn_blocking(move || reader.read(&mut [0]).map(|_| reader)).await.unwrap().unwrap();
        // As many as may wait, and the one that was read: then it stands still.
        for _ in 0..=PIECES_AHEAD {
            hears.recv().await.unwrap();
        }
        drop(reader);
        bringing.end().await;
        assert!(hears.recv().await.is_none(), "it brought more than there was room for");
    }
}
