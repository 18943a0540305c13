//! A whole reading: from opening the batch to its end, or until it is asked to stop.

use super::{Begun, LoadError, Loader, Loading};
use crate::handler::{Source, SourceError};
use crate::model::batch::Counts;
use crate::store::OpenBatch;

/// How a reading ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// At the end of the source.
    Done {
        /// The batch.
        batch: String,
        /// What became of its records.
        counts: Counts,
    },
    /// It was asked to stop, and gave the batch back.
    Stopped {
        /// The batch.
        batch: String,
        /// What became of the records so far.
        counts: Counts,
    },
    /// It could not go on.
    Failed {
        /// The batch, if it was opened.
        batch: Option<String>,
        /// Why.
        error: LoadError,
    },
}

impl Loader {
    /// Reads `source` chunk by chunk, from where it was left to its end. `told` hears of every chunk; when it answers false the
    /// batch is given back.
    pub async fn read(
        &self,
        open: &OpenBatch,
        source: &mut dyn Source,
        mut told: impl FnMut(&Loading, &dyn Source) -> bool,
    ) -> Ended {
        let mut loading = match self.open(open, source).await {
            Ok(Begun::Loading(loading)) => loading,
            Ok(Begun::Finished { batch, counts }) => return Ended::Done { batch, counts },
            Err(error) => return Ended::Failed { batch: None, error },
        };
        let batch = loading.batch().to_owned();
        while !loading.is_done() {
            if let Err(error) = self.pass(&mut loading, source).await {
                self.release(&loading).await;
                return Ended::Failed { batch: Some(batch), error };
            }
            if !told(&loading, source) && !loading.is_done() {
                self.release(&loading).await;
                return Ended::Stopped { batch, counts: loading.counts() };
            }
        }
        Ended::Done { batch, counts: loading.counts() }
    }
}

impl LoadError {
    /// Whether another try, later, may succeed without anybody doing anything.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Superseded | Self::Source(SourceError::Unreadable(_)) => true,
            Self::Store(store) => store.is_passing(),
            Self::Differs { .. }
            | Self::Statements(_)
            | Self::TooManyRejected { .. }
            | Self::Withheld { .. }
            | Self::Source(SourceError::Changed(_) | SourceError::Refused { .. }) => false,
        }
    }
}
