//! From nothing to a connection on which the request may begin. Nothing of the request goes out here.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use onebell::time::Timer;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

use super::route::Route;
use super::target::Target;
use super::wire::Duplex;

/// A proxy's answer to CONNECT.
const PROXY_HEAD_MAX: usize = 8 * 1024;

/// A connection to whoever takes the request.
pub(crate) struct Connection {
    pub(super) stream: Box<dyn Duplex>,
    /// A proxy takes it, and has to be told where it goes.
    pub(super) absolute: bool,
}

impl Route {
    /// Connects, through the proxy if there is one, and puts TLS on it.
    pub(crate) async fn open(&self, target: &Target) -> Result<Connection, String> {
        self.admits(target.host())?;
        let (stream, absolute) = match &self.proxy {
            None => (connect(target).await?, false),
            Some(proxy) if !target.https => (connect(proxy).await.map_err(|error| format!("the proxy: {error}"))?, true),
            Some(proxy) => {
                let stream = connect(proxy).await.map_err(|error| format!("the proxy: {error}"))?;
                (tunnel(stream, target).await.map_err(|error| format!("the proxy {}: {error}", proxy.authority))?, false)
            }
        };
        if !target.https {
            return Ok(Connection { stream: Box::new(stream), absolute });
        }
        let name =
            ServerName::try_from(target.host.clone()).map_err(|_| format!("{:?} is no name of a certificate", target.host))?;
        let tls = self.tls.as_ref().ok_or("TLS was not asked for when the way was prepared; report this")?;
        let stream = tls.connect(name, stream).await.map_err(|error| format!("TLS with {}: {error}", target.authority))?;
        Ok(Connection { stream: Box::new(stream), absolute })
    }
}

async fn connect(target: &Target) -> Result<TcpStream, String> {
    let open = async {
        let stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
        stream.set_nodelay(true)?;
        Ok::<_, io::Error>(stream)
    };
    open.await.map_err(|error| format!("connecting to {}: {error}", target.host_and_port()))
}

/// Asks the proxy for a way through. What it says after its head would be taken for the receiver's, so nothing beyond is read.
async fn tunnel(mut stream: TcpStream, target: &Target) -> Result<TcpStream, String> {
    let to = target.host_and_port();
    let asked = stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await;
    asked.map_err(|error| error.to_string())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == PROXY_HEAD_MAX {
            return Err("its answer is no HTTP".to_owned());
        }
        head.push(stream.read_u8().await.map_err(|error| error.to_string())?);
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).unwrap_or_default();
    if status.len() == 3 && status.starts_with('2') {
        return Ok(stream);
    }
    let shown: String = line.chars().filter(|found| !found.is_control()).take(100).collect();
    Err(format!("it lets nothing through to {to}: {shown}"))
}

impl Connection {
    /// Looks, without waiting, whether the other side spoke or left before it was asked. Whatever it says is no answer.
    pub(super) async fn unasked(&mut self) -> Result<(), String> {
        let mut space = [0; 64];
        let mut read = ReadBuf::new(&mut space);
        let stream = &mut self.stream;
        poll_fn(|context| {
            Poll::Ready(match Pin::new(&mut *stream).poll_read(context, &mut read) {
                Poll::Pending => Ok(()),
                Poll::Ready(Ok(())) if !read.filled().is_empty() => Err("the receiver spoke before it was asked".to_owned()),
                Poll::Ready(Ok(())) => Err("the receiver closed the connection".to_owned()),
                Poll::Ready(Err(error)) => Err(error.to_string()),
            })
        })
        .await
    }
}

/// `work`, or that it took too long; work that is done wins.
pub(crate) async fn within<T>(
    timer: &dyn Timer,
    span: Duration,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    tokio::select! {
        biased;
        done = work => done,
        () = timer.sleep(span) => Err("it took too long".to_owned()),
    }
}
