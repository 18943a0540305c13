//! `run --listen`: three pages for whoever watches a replica, which change nothing, and the addresses of callbacks.
//!
//! `/healthz` answers as long as the process does; `/readyz` says whether the replica can work, and why not; `/metrics` is the text
//! form of Prometheus. What is sent below `/callbacks/` is for [`crate::callback`].

mod metrics;
mod serve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use onebell::replica::Health;
use onebell::store::Store;

pub use metrics::{METRICS, Metric};

use crate::callback::{Desk, Letter, Reply};

/// What the pages tell of; filled when the replica is there.
#[derive(Clone, Default)]
pub struct Watched(Arc<OnceLock<Open>>);

struct Open {
    health: Health,
    store: Arc<dyn Store>,
    desk: Desk,
}

impl Watched {
    /// From now on there is something to tell. Secrets in files are looked up from `folder`.
    pub fn begin(&self, health: Health, store: Arc<dyn Store>, folder: PathBuf) {
        let desk = Desk { store: Arc::clone(&store), folder };
        // A replica is built once; a second one would not be told of.
        drop(self.0.set(Open { health, store, desk }));
    }
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    status: u16,
    text: String,
}

impl Page {
    fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

/// Binds, and answers until the process ends.
///
/// # Errors
/// When the address cannot be had.
pub async fn listen(address: SocketAddr, watched: Watched) -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    tracing::info!(address = %bound, "listening: /healthz, /readyz, /metrics, /callbacks/");
    tokio::spawn(serve::serve(listener, watched));
    Ok(bound)
}

async fn page(watched: &Watched, method: &str, path: &str) -> Page {
    match (method, path) {
        ("GET" | "HEAD", "/healthz") => Page::new(200, "ok\n"),
        ("GET" | "HEAD", "/readyz") => readyz(watched),
        ("GET" | "HEAD", "/metrics") => Page::new(200, metrics::text(watched).await),
        (_, "/healthz" | "/readyz" | "/metrics") => Page::new(405, "only GET\n"),
        _ => Page::new(404, "there are /healthz, /readyz and /metrics\n"),
    }
}

/// What is sent to the address of a step.
async fn callback<B>(watched: &Watched, path: &str, letter: &Letter, body: B) -> Page
where
    B: AsyncFnOnce(usize) -> Result<Vec<u8>, Reply>,
{
    let Some(open) = watched.0.get() else { return Page::new(503, "the database cannot be reached yet\n") };
    let (status, text) = open.desk.take(path, letter, body).await;
    Page::new(status, text + "\n")
}

fn readyz(watched: &Watched) -> Page {
    let Some(open) = watched.0.get() else { return Page::new(503, "the database cannot be reached yet\n") };
    let why = open.health.unready();
    if why.is_empty() { Page::new(200, "ready\n") } else { Page::new(503, why.join("\n") + "\n") }
}
