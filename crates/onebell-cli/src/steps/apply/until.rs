//! A source for as long as its step may go on: whoever waits for an address or a command stops waiting then.

use async_trait::async_trait;
use onebell::handler::{Page, PageLimit, Source, SourceError, Stop};
use onebell::model::record::Checkpoint;

use crate::apply::Records;

/// Gives up what it waits for when the step is to end.
pub(super) struct Until<'a> {
    pub(super) records: &'a mut Records,
    pub(super) stop: &'a Stop,
}

fn stopped() -> SourceError {
    SourceError::Unreadable("the step was to end".to_owned())
}

#[async_trait]
impl Source for Until<'_> {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        tokio::select! {
            biased;
            opened = self.records.open(from) => opened,
            _ = self.stop.requested() => Err(stopped()),
        }
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        tokio::select! {
            biased;
            page = self.records.page(limit) => page,
            _ = self.stop.requested() => Err(stopped()),
        }
    }
}
