use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use onebell::time::Timer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};

use super::reply::{Reply, ReplyLine};

const LINE_MAX: usize = 4096;
const LINES_MAX: usize = 128;

/// What a connection runs over: TCP, or TLS over it.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// A connection to a mail server: answers and what is written, nothing of what they mean.
pub(super) struct Wire {
    stream: Box<dyn Duplex>,
    unread: Vec<u8>,
}

/// Why a connection cannot be used further.
#[derive(Debug)]
pub(super) enum Broken {
    Closed,
    Io(io::Error),
    TimedOut,
    /// The answer is not SMTP.
    Garbage,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Io(error) => write!(f, "{error}"),
            Self::TimedOut => f.write_str("the server took too long"),
            Self::Garbage => f.write_str("the server's answer is not SMTP"),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What the server did without being asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unasked {
    Nothing,
    Spoke,
    Left,
}

impl Wire {
    pub(super) fn over(stream: impl Duplex + 'static) -> Self {
        Self { stream: Box::new(stream), unread: Vec::new() }
    }

    /// The stream below, to put TLS on it. What arrived before the handshake was not protected by it: whoever sits on the way
    /// may have written it, so it is an error, never an answer.
    pub(super) fn into_stream(self) -> Result<Box<dyn Duplex>, Broken> {
        if self.unread.is_empty() { Ok(self.stream) } else { Err(Broken::Garbage) }
    }

    /// Writes one command line (without its end) and reads the answer.
    pub(super) async fn ask(&mut self, line: &str) -> Result<Reply, Broken> {
        self.write(format!("{line}\r\n").as_bytes()).await?;
        self.reply().await
    }

    /// Writes all of `bytes` and hands it to the kernel. After an error its last byte was not handed over: plain and TLS
    /// streams write in order and the kernel takes nothing of a write that it refuses.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads one answer of bounded size.
    pub(super) async fn reply(&mut self) -> Result<Reply, Broken> {
        let mut lines = Vec::new();
        while lines.len() < LINES_MAX {
            let line = self.line().await?;
            lines.push(ReplyLine::read(&line).ok_or(Broken::Garbage)?);
            if let Some(reply) = Reply::of(&lines).map_err(|()| Broken::Garbage)? {
                return Ok(reply);
            }
        }
        Err(Broken::Garbage)
    }

    async fn line(&mut self) -> Result<Vec<u8>, Broken> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.unread[searched..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.unread.drain(..=searched + at).collect();
                line.truncate(line.trim_ascii_end().len());
                return Ok(line);
            }
            searched = self.unread.len();
            if searched > LINE_MAX {
                return Err(Broken::Garbage);
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(Broken::Closed);
            }
        }
    }

    /// Looks, without waiting, whether the server spoke or left.
    pub(super) async fn unasked(&mut self) -> Unasked {
        if !self.unread.is_empty() {
            return Unasked::Spoke;
        }
        let mut space = [0; LINE_MAX];
        let mut read = ReadBuf::new(&mut space);
        let stream = &mut self.stream;
        let seen = poll_fn(|context| {
            Poll::Ready(match Pin::new(&mut *stream).poll_read(context, &mut read) {
                Poll::Pending => Unasked::Nothing,
                Poll::Ready(Ok(())) if !read.filled().is_empty() => Unasked::Spoke,
                Poll::Ready(_) => Unasked::Left,
            })
        })
        .await;
        self.unread.extend_from_slice(read.filled());
        seen
    }

    /// Takes leave without waiting for anything: what counts is already known. Never inside `DATA`, where it would be content.
    pub(super) fn leave(mut self) {
        let farewell = async {
            self.write(b"QUIT\r\n").await?;
            Ok::<_, Broken>(self.stream.shutdown().await?)
        };
        drop(farewell.now_or_never());
    }
}

/// `work`, or [`Broken::TimedOut`] after `span`; work that is done wins.
pub(super) async fn within<T>(
    timer: &dyn Timer,
    span: Duration,
    work: impl Future<Output = Result<T, Broken>>,
) -> Result<T, Broken> {
    tokio::select! {
        biased;
        done = work => done,
        () = timer.sleep(span) => Err(Broken::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_arrived_before_the_handshake_is_never_an_answer_from_inside_it() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut wire = Wire::over(near);
        far.write_all(b"220 go ahead\r\n250 injected\r\n").await.unwrap();
        assert_eq!(wire.reply().await.unwrap().code, 220);
        assert!(matches!(wire.into_stream(), Err(Broken::Garbage)));
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut_off() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let mut wire = Wire::over(near);
        far.write_all("250-more\r\n".repeat(LINES_MAX + 1).as_bytes()).await.unwrap();
        assert!(matches!(wire.reply().await, Err(Broken::Garbage)));
        far.write_all(&[b'2'; 5 * LINE_MAX]).await.unwrap();
        assert!(matches!(wire.reply().await, Err(Broken::Garbage)));
    }

    #[tokio::test]
    async fn half_an_answer_is_none() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut wire = Wire::over(near);
        far.write_all(b"250 2.0.0 Ok: queu").await.unwrap();
        drop(far);
        assert!(matches!(wire.reply().await, Err(Broken::Closed)));
    }
}
