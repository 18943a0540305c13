//! A socket in front of the server that can cut a connection at a chosen word.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// What the proxy does when a client says `word`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server hears it, the client never hears the answer.
    Answer,
    /// The server never hears it.
    Question,
    /// The client waits for ever.
    Silence,
}

/// Passes bytes both ways. Once armed, it cuts the next connection that says the word.
pub(crate) struct Proxy {
    folder: TempDir,
    armed: Arc<Mutex<Option<(Cut, &'static str)>>>,
}

impl Proxy {
    /// In front of the socket in `behind`.
    pub(crate) fn before(behind: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("ob-px-").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let armed = Arc::new(Mutex::new(None));
        let (server, arm) = (behind.join(".s.PGSQL.5432"), Arc::clone(&armed));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server.clone(), Arc::clone(&arm)));
            }
        });
        Self { folder, armed }
    }

    /// The URL of `database` through the proxy.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&user=postgres", self.folder.path().display())
    }

    /// Cuts when a client says `word` next.
    pub(crate) fn arm(&self, cut: Cut, word: &'static str) {
        *self.armed.lock().unwrap() = Some((cut, word));
    }

    /// Whether the cut was made.
    pub(crate) fn cut(&self) -> bool {
        self.armed.lock().unwrap().is_none()
    }
}

async fn pass(client: UnixStream, server: PathBuf, armed: Arc<Mutex<Option<(Cut, &'static str)>>>) {
    let server = UnixStream::connect(server).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = tokio::spawn(async move { drop(tokio::io::copy(&mut from_server, &mut to_client).await) });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from_client.read(&mut buffer).await {
        let heard = &buffer[..read];
        let said = |word: &str| heard.windows(word.len()).any(|part| part == word.as_bytes());
        let cut = {
            let mut armed = armed.lock().unwrap();
            let hit = armed.filter(|(_, word)| said(word));
            if hit.is_some() {
                *armed = None;
            }
            hit.map(|(cut, _)| cut)
        };
        match cut {
            None => to_server.write_all(heard).await.unwrap(),
            Some(Cut::Question) => break,
            Some(Cut::Silence) => {
                answers.abort();
                std::future::pending::<()>().await;
            }
            Some(Cut::Answer) => {
                answers.abort();
                // The task is over before the server is asked: no byte of the answer can slip through.
                drop(answers.await);
                to_server.write_all(heard).await.unwrap();
                to_server.shutdown().await.unwrap();
                // The server reads what was said before it sees the end.
                return;
            }
        }
    }
    answers.abort();
}
