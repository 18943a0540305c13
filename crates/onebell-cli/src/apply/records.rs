//! A source as a plan names it.

use std::future::Future;
use std::io::{self, Cursor, Read};
use std::path::Path;

use async_trait::async_trait;
use onebell::handler::{Page, PageLimit, Source, SourceError};
use onebell::model::record::Checkpoint;

use super::feed::Feed;
use super::fetch::fetch;
use super::plan::{Plan, Wrong};
use crate::source::{Bringing, FileSource, Pieces, ReaderSource, SourceOptions, brought};

/// A file, or a stream that can only be read from its start.
pub enum Records {
    /// A file.
    File(FileSource),
    /// A stream, with what brings it.
    Stream(ReaderSource, Option<Bringing>),
}

impl Records {
    /// Of a file.
    pub(crate) fn of_file(plan: &Plan, file: &Path) -> Result<Self, Wrong> {
        FileSource::new(file, &plan.options()?)
            .map(Self::File)
            .map_err(|error| Wrong { part: "format", message: error.to_string() })
    }

    /// Of a stream.
    pub(crate) fn of_stream(plan: &Plan, name: &str, input: impl Read + Send + 'static) -> Result<Self, Wrong> {
        let wrong = |error: SourceError| Wrong { part: "format", message: error.to_string() };
        let options = SourceOptions { format: Some(plan.written()?), ..plan.options()? };
        ReaderSource::new(name, input, &options).map(|source| Self::Stream(source, None)).map_err(wrong)
    }

    /// Of rows that are there, a JSON array of objects.
    pub(crate) fn of_rows(plan: &Plan, name: &str, rows: &str) -> Result<Self, Wrong> {
        let lines = crate::steps::as_ndjson(rows).map_err(|message| Wrong { part: "query", message })?;
        Self::of_stream(plan, name, Cursor::new(lines.into_bytes()))
    }

    /// Of what an address answers; it is asked when the first record is.
    pub(crate) fn of_address(plan: &Plan, name: &str, url: &str) -> Result<Self, Wrong> {
        let url = url.to_owned();
        Self::of_task(plan, name, |pieces| fetch(url, pieces))
    }

    /// Of what a command prints that only this process vouches for.
    pub(crate) fn of_command(plan: &Plan, name: &str, argv: &[String]) -> Result<Self, Wrong> {
        let argv = argv.to_owned();
        Self::of_task(plan, name, async move |pieces| Feed::alone(&argv).run(|kept| kept.wait(), pieces).await)
    }

    /// Of what a task brings, which begins when the first record is asked for.
    pub(crate) fn of_task<F>(plan: &Plan, name: &str, bring: impl FnOnce(Pieces) -> F + Send + 'static) -> Result<Self, Wrong>
    where
        F: Future<Output = io::Result<()>> + Send,
    {
        let (reader, bringing) = brought(bring);
        match Self::of_stream(plan, name, reader)? {
            Self::Stream(source, _) => Ok(Self::Stream(source, Some(bringing))),
            file @ Self::File(_) => Ok(file),
        }
    }

    /// Nobody reads any longer; returns when nothing of what gave the records runs.
    pub(crate) async fn end(self) {
        if let Self::Stream(source, Some(bringing)) = self {
            drop(source);
            bringing.end().await;
        }
    }

    /// The header line, once it is open.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        match self {
            Self::File(source) => source.header(),
            Self::Stream(source, _) => source.header(),
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Self::File(source) => source,
            Self::Stream(source, _) => source,
        }
    }

    fn source_mut(&mut self) -> &mut dyn Source {
        match self {
            Self::File(source) => source,
            Self::Stream(source, _) => source,
        }
    }
}

#[async_trait]
impl Source for Records {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        self.source_mut().open(from).await
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        self.source_mut().page(limit).await
    }

    fn size(&self) -> Option<u64> {
        self.source().size()
    }

    fn read(&self) -> Option<u64> {
        self.source().read()
    }
}
