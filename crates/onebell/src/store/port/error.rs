/// An answer of the store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store call gave no answer, by what the caller may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It may or may not have happened: read back, or repeat what is safe to repeat.
    #[error("the store is away: {message}")]
    Unavailable {
        /// What was seen.
        message: String,
        /// What kind of absence.
        cause: Cause,
    },
    /// It did not happen: try again.
    #[error("the store is busy: {message}")]
    Contended {
        /// What was seen.
        message: String,
    },
    /// It cannot happen: stop and say why.
    #[error("{message}")]
    Broken {
        /// What is wrong and what to do.
        message: String,
    },
}

/// Why a store is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// No connection, shut down, failing over, read-only, no answer in time.
    Away,
    /// No space: stop claiming, keep running work, go on when space returns.
    Full,
}

impl StoreError {
    /// The store does not answer.
    pub fn away(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), cause: Cause::Away }
    }

    /// The store is out of space.
    pub fn full(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), cause: Cause::Full }
    }

    /// Somebody else was faster.
    pub fn contended(message: impl Into<String>) -> Self {
        Self::Contended { message: message.into() }
    }

    /// Trying again cannot help.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::Broken { message: message.into() }
    }

    /// The same call may be tried again: all verbs of the port are safe to repeat.
    pub fn is_passing(&self) -> bool {
        !matches!(self, Self::Broken { .. })
    }
}
