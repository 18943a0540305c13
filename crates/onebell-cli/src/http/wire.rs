use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const CHUNK: usize = 8 * 1024;

/// What a connection runs over: TCP, or TLS over it.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// A stream as hyper wants it. It notes when the first byte is handed over: before that nothing can have arrived.
pub(crate) struct Wire {
    stream: Box<dyn Duplex>,
    began: Arc<AtomicBool>,
}

impl Wire {
    /// Of which nobody asks when the first byte went.
    pub(crate) fn of(stream: impl Duplex + 'static) -> Self {
        Self { stream: Box::new(stream), began: Arc::default() }
    }

    pub(super) fn over(stream: Box<dyn Duplex>, began: &Arc<AtomicBool>) -> Self {
        Self { stream, began: Arc::clone(began) }
    }
}

impl Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut space = [0; CHUNK];
        let room = into.remaining().min(CHUNK);
        let mut read = ReadBuf::new(&mut space[..room]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        if written > 0 {
            self.began.store(true, Ordering::SeqCst);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
