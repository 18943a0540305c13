//! A socket before PostgreSQL that loses a COMMIT, or its answer, when it is told to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// What becomes of the next COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loses {
    /// The server carries it out; its answer and the connection are lost.
    Answer = 1,
    /// It never arrives; the connection is lost.
    Commit = 2,
}

/// Passes bytes both ways.
pub(super) struct Proxy {
    folder: TempDir,
    next: Arc<AtomicU8>,
    name: String,
}

impl Proxy {
    /// Before the server of this URL (a unix socket).
    pub(super) fn before(url: &str) -> Self {
        let (server, name) = url.rsplit_once('/').unwrap();
        let (_, place) = server.split_once('@').unwrap();
        let server = PathBuf::from(place.trim_end_matches(":5432").replace("%2F", "/")).join(".s.PGSQL.5432");
        let folder = tempfile::Builder::new().prefix("ob-px-").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let next = Arc::new(AtomicU8::new(0));
        let loses = Arc::clone(&next);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&server).await.unwrap();
                tokio::spawn(pass(client, server, Arc::clone(&loses)));
            }
        });
        Self { folder, next, name: name.to_owned() }
    }

    /// The same database, through here.
    pub(super) fn url(&self) -> String {
        let folder = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{folder}:5432/{}", self.name)
    }

    /// The next COMMIT is lost so.
    pub(super) fn arm(&self, loses: Loses) {
        self.next.store(loses as u8, Ordering::SeqCst);
    }

    /// Whether a COMMIT was lost since it was armed.
    pub(super) fn fired(&self) -> bool {
        self.next.load(Ordering::SeqCst) == 0
    }
}

async fn pass(mut client: UnixStream, mut server: UnixStream, loses: Arc<AtomicU8>) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                let commits = asked[..count].windows(7).any(|window| window == b"COMMIT\0");
                let lost = if commits { loses.swap(0, Ordering::SeqCst) } else { 0 };
                if lost == Loses::Commit as u8 {
                    return;
                }
                if server.write_all(&asked[..count]).await.is_err() {
                    return;
                }
                if lost == Loses::Answer as u8 {
                    // The server answers only when it is done.
                    server.read(&mut answered).await.unwrap_or_default();
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
