//! A source as a plan names it.

use std::io::Read;
use std::path::Path;

use async_trait::async_trait;
use onebell::handler::{Page, PageLimit, Source, SourceError};
use onebell::model::record::Checkpoint;

use super::plan::{Plan, Wrong};
use crate::source::{FileSource, ReaderSource};

/// A file, or a stream that can only be read from its start.
pub enum Records {
    /// A file.
    File(FileSource),
    /// A stream.
    Stream(ReaderSource),
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
        ReaderSource::new(name, input, &plan.options()?).map(Self::Stream).map_err(wrong)
    }

    /// The header line, once it is open.
    pub(crate) fn header(&self) -> Option<&[u8]> {
        match self {
            Self::File(source) => source.header(),
            Self::Stream(source) => source.header(),
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Self::File(source) => source,
            Self::Stream(source) => source,
        }
    }

    fn source_mut(&mut self) -> &mut dyn Source {
        match self {
            Self::File(source) => source,
            Self::Stream(source) => source,
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
