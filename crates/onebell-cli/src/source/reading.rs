//! What all sources do alike: a thread reads them, and hands its pages over.

use std::sync::Arc;

use onebell::handler::{Page, PageLimit, SourceError};
use onebell::model::record::Checkpoint;

use super::ahead::Ahead;
use super::decode::{self, Input, Progress};
use super::pages::Pages;
use super::settings::Settings;
use super::{Compression, Format};

/// A source and the thread that reads it, once it is open.
pub(super) struct Reading {
    pub(super) settings: Arc<Settings>,
    format: Format,
    compression: Option<Compression>,
    thread: Option<(Ahead, Arc<Progress>)>,
}

impl Reading {
    /// Of nothing yet.
    pub(super) fn new(format: Format, compression: Option<Compression>, settings: Arc<Settings>) -> Self {
        Self { settings, format, compression, thread: None }
    }

    /// Begins with `input`, at `from`. `repeats`: it can be read again.
    pub(super) async fn begin(
        &mut self,
        input: impl FnOnce() -> Result<Input, SourceError> + Send + 'static,
        from: Option<&Checkpoint>,
        repeats: bool,
    ) -> Result<(), SourceError> {
        self.thread = None;
        let progress = Arc::new(Progress::default());
        let (settings, from, seen) = (self.settings.clone(), from.cloned(), progress.clone());
        let kind = (self.format, self.compression);
        let open = move || open_pages(input()?, kind, settings, from.as_ref(), (repeats, &seen));
        let ahead = Ahead::begin(&self.settings.name, progress.clone(), open);
        self.thread = Some((ahead.await?, progress));
        Ok(())
    }

    pub(super) fn is_open(&self) -> bool {
        self.thread.is_some()
    }

    /// The next page of one that is open.
    pub(super) async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        match &mut self.thread {
            Some((ahead, _)) => ahead.page(limit).await,
            None => Err(SourceError::Unreadable(format!("{}: is not open", self.settings.name))),
        }
    }

    pub(super) fn header(&self) -> Option<&[u8]> {
        self.thread.as_ref().and_then(|(ahead, _)| ahead.header.as_deref())
    }

    pub(super) fn read(&self) -> Option<u64> {
        self.thread.as_ref().map(|(_, progress)| progress.bytes())
    }
}

/// Everything before the first page.
pub(super) fn open_pages(
    input: Input,
    (format, compression): (Format, Option<Compression>),
    settings: Arc<Settings>,
    from: Option<&Checkpoint>,
    (repeats, progress): (bool, &Arc<Progress>),
) -> Result<Pages, SourceError> {
    let input = decode::decoded(input, compression, progress).map_err(|error| settings.unopened(&error))?;
    let mut pages = Pages::new(input, format, settings, repeats);
    pages.open(from)?;
    Ok(pages)
}
