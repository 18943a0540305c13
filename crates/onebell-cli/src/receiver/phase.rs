use std::fmt;

/// How far a request got. Each is told when it was reached and before anything is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Somebody connected; nothing was read.
    Connected,
    /// The head of a request was read.
    Head,
    /// All of it was read; nothing is done yet.
    Request,
    /// The work is done and counted; the answer is the yes.
    Done,
    /// Somebody asked whether a message arrived.
    Asked,
    /// The connection ended; there is nothing to answer.
    Closed,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "connected",
            Self::Head => "head",
            Self::Request => "request",
            Self::Done => "done",
            Self::Asked => "asked",
            Self::Closed => "closed",
        })
    }
}

/// A client reached a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseEvent {
    /// Running number over all connections, from 1.
    pub number: u64,
    /// Which connection, from 1.
    pub connection: u64,
    /// The phase.
    pub phase: Phase,
    /// The request's target as it was written; empty before the head was read.
    pub target: String,
    /// The `Idempotency-Key` of the request, or the key that is asked for; empty before the head was read.
    pub key: String,
    /// `Onebell-Attempt`; 0 when it says none.
    pub attempt: u64,
}
