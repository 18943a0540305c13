//! A server that follows a script, for what our own mailbox does not speak.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The client's next line, read a byte at a time: nothing of what follows is taken. Empty at the end.
pub(super) async fn line(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        if byte == b'\n' {
            break;
        }
        line.push(byte);
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

pub(super) async fn say(stream: &mut (impl AsyncWrite + Unpin), words: &str) {
    stream.write_all(format!("{words}\r\n").as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// For each pair: the client must say the first (or begin with it, when it ends in `*`), the server answers the second.
pub(super) async fn play(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), script: &[(&str, &str)]) {
    for (expected, answer) in script {
        let said = line(stream).await;
        match expected.strip_suffix('*') {
            Some(begin) => assert!(said.starts_with(begin), "{said:?} is not {expected:?}"),
            None => assert_eq!(said, *expected),
        }
        say(stream, answer).await;
    }
}

pub(super) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub(super) async fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().await.unwrap().0
}
