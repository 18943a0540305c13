//! What a chunk is to its batch: the next, one that was committed before, or one of a reader who lost its claim.

use super::BatchStatus;
use crate::model::record::Position;

/// What is to be done with a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It is committed now.
    Next,
    /// It was: its answer was lost.
    Committed,
    /// Nothing may be written.
    Gone,
}

/// Where a chunk begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// What the batch's position must be: none, at the start.
    pub from: Option<Position>,
    /// After it.
    pub after: Position,
    /// Nothing follows.
    pub last: bool,
}

/// Decides over a locked batch; `ours` says that its attempt is the reader's.
pub fn turn(ours: bool, status: BatchStatus, at: Option<Position>, chunk: Span) -> Turn {
    match status {
        _ if !ours => Turn::Gone,
        BatchStatus::Running if at == chunk.from => Turn::Next,
        BatchStatus::Running if at == Some(chunk.after) && !chunk.last => Turn::Committed,
        BatchStatus::Done if at == Some(chunk.after) && chunk.last => Turn::Committed,
        BatchStatus::Pending | BatchStatus::Running | BatchStatus::Done | BatchStatus::Cancelled => Turn::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_only_the_reader_whose_attempt_it_is_commits_and_only_what_is_next() {
        let place = |byte| Position { byte, line: byte + 1 };
        let chunk = |last| Span { from: Some(place(10)), after: place(20), last };
        let decide = |status, byte, last| turn(true, status, Some(place(byte)), chunk(last));
        assert_eq!(decide(BatchStatus::Running, 10, false), Turn::Next);
        assert_eq!(decide(BatchStatus::Running, 20, false), Turn::Committed);
        assert_eq!(decide(BatchStatus::Done, 20, true), Turn::Committed);
        assert_eq!(decide(BatchStatus::Running, 30, false), Turn::Gone, "it was read on by somebody");
        assert_eq!(decide(BatchStatus::Running, 20, true), Turn::Gone, "the last one would have ended it");
        for status in [BatchStatus::Pending, BatchStatus::Cancelled, BatchStatus::Done] {
            assert_eq!(decide(status, 10, false), Turn::Gone, "{status}");
        }
        assert_eq!(turn(false, BatchStatus::Running, Some(place(10)), chunk(false)), Turn::Gone);
    }
}
