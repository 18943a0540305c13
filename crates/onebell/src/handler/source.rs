//! Where the records of a batch come from.

use async_trait::async_trait;

use crate::model::record::{Checkpoint, Item, Position};

/// What was read in one go: the items of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// In the order of the source.
    pub items: Vec<Item>,
    /// After the last of them: what is committed with them.
    pub after: Checkpoint,
    /// Nothing follows.
    pub last: bool,
}

/// How much may be in one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Items, rejections included.
    pub items: usize,
    /// Bytes of the source, so that long records do not fill the memory; one item may exceed it alone.
    pub bytes: usize,
}

/// Why a source gave no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It is not what was read before: its header, or what stands before the checkpoint, changed.
    #[error("{0}")]
    Changed(String),
    /// It cannot be read from here on, and trying again would not help: the place, what is wrong, and what to do.
    #[error("{message}")]
    Refused {
        /// Where.
        place: Position,
        /// For people; it names the place too.
        message: String,
    },
    /// Reading failed; another try may succeed.
    #[error("{0}")]
    Unreadable(String),
}

/// Gives records in an order that is the same every time.
#[async_trait]
pub trait Source: Send {
    /// Goes to where a batch was left, after making sure that what stands before it is what was read then; with none, to the
    /// start. May be called again at any time.
    ///
    /// # Errors
    /// [`SourceError::Changed`] when it is not the same source any longer.
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError>;

    /// The next items. A page may have none; it is the last one only when it says so.
    ///
    /// # Errors
    /// What was read before the error was given in pages before it.
    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError>;

    /// Bytes of the whole, if known; compressed ones count as they are compressed, so it is only for progress.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Bytes of [`Self::size`] read so far.
    fn read(&self) -> Option<u64> {
        None
    }
}
