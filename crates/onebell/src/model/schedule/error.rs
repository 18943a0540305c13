//! What is wrong with a schedule, where, and what to write instead.

/// Why a schedule cannot be used. It concerns one job; the others go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}; {remedy}")]
pub struct ScheduleError {
    /// The part of the schedule, such as `minute field "61"`.
    pub place: String,
    /// Where that part begins, in bytes from the start of the text as it was written.
    pub offset: usize,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl ScheduleError {
    pub(super) fn new(place: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.into(), offset: 0, problem: problem.into(), remedy: remedy.into() }
    }

    pub(super) fn at(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }
}
