//! The reading thread: it reads and parses while the database writes what was read before, a few pages ahead and no more.

use std::sync::Arc;
use std::sync::mpsc as limits;

use onebell::handler::{Page, PageLimit, SourceError};
use onebell::model::record::Checkpoint;
use tokio::sync::{mpsc, oneshot};

use super::decode::Progress;
use super::pages::Pages;

/// Pages that wait; one more is being made.
const PAGES_AHEAD: usize = 2;

/// A source that a thread reads; dropping it ends the thread.
pub(super) struct Ahead {
    limits: limits::Sender<PageLimit>,
    asked: Option<PageLimit>,
    pages: mpsc::Receiver<Result<Page, SourceError>>,
    /// What every further question is answered with.
    end: Option<Result<Checkpoint, SourceError>>,
    progress: Arc<Progress>,
    pub(super) header: Option<Vec<u8>>,
}

impl Ahead {
    /// Starts the thread and waits until `open` is through.
    pub(super) async fn begin(
        name: &str,
        progress: Arc<Progress>,
        open: impl FnOnce() -> Result<Pages, SourceError> + Send + 'static,
    ) -> Result<Self, SourceError> {
        let (limits, asked) = limits::channel();
        let (given, pages) = mpsc::channel(PAGES_AHEAD);
        let (opened, answer) = oneshot::channel();
        let read = move || match open() {
            Ok(source) => {
                let header = source.header().map(<[u8]>::to_vec);
                if opened.send(Ok(header)).is_ok() {
                    read(source, &asked, &given);
                }
            }
            // Nobody listens any longer if this is not received.
            Err(error) => drop(opened.send(Err(error))),
        };
        let unreadable = |why: String| SourceError::Unreadable(format!("{name}: cannot be read: {why}"));
        // Whoever gives up while it opens stops the thread too.
        let mut ahead = Self { limits, asked: None, pages, end: None, progress, header: None };
        std::thread::Builder::new()
            .name("onebell-source".to_owned())
            .spawn(read)
            .map_err(|error| unreadable(format!("no thread for it: {error}")))?;
        ahead.header = answer.await.map_err(|_| unreadable("its thread ended".to_owned()))??;
        Ok(ahead)
    }

    /// The next page. Nothing is lost when the caller stops waiting.
    pub(super) async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        match &self.end {
            Some(Ok(after)) => return Ok(Page { items: Vec::new(), after: after.clone(), last: true }),
            Some(Err(error)) => return Err(error.clone()),
            None => {}
        }
        if self.asked != Some(limit) {
            self.asked = Some(limit);
            // A thread that is through has its pages in the channel.
            let _ended = self.limits.send(limit);
        }
        let page = match self.pages.recv().await {
            Some(page) => page,
            None => Err(SourceError::Unreadable("the reading thread ended before the source did".to_owned())),
        };
        match &page {
            Ok(page) if page.last => self.end = Some(Ok(page.after.clone())),
            Ok(_) => {}
            Err(error) => self.end = Some(Err(error.clone())),
        }
        page
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.progress.stop();
    }
}

fn read(mut source: Pages, limits: &limits::Receiver<PageLimit>, given: &mpsc::Sender<Result<Page, SourceError>>) {
    let Ok(mut limit) = limits.recv() else { return };
    loop {
        if let Some(newest) = limits.try_iter().last() {
            limit = newest;
        }
        let page = source.page(limit);
        let last = page.as_ref().map_or(true, |page| page.last);
        if given.blocking_send(page).is_err() || last {
            return;
        }
    }
}
