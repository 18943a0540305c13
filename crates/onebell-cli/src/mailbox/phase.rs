use std::fmt;

/// How far a client got. Each is told when it was reached and before its answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// It said its name (EHLO or HELO).
    Connected,
    /// It named the sender.
    Mail,
    /// It named a recipient.
    Rcpt,
    /// It asked to send the content; the answer is `354`.
    Data354,
    /// The first byte of the content was read.
    BodyFirstByte,
    /// The final dot was read; nothing is stored yet.
    Dot,
    /// The message is stored and counted; the answer is the yes.
    Accepted,
    /// The connection ended; there is nothing to answer.
    Closed,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "connected",
            Self::Mail => "mail",
            Self::Rcpt => "rcpt",
            Self::Data354 => "data_354",
            Self::BodyFirstByte => "body_first_byte",
            Self::Dot => "dot",
            Self::Accepted => "accepted",
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
    /// The name that the client gave with EHLO; empty before it did.
    pub ehlo: String,
    /// The sender (`Mail`), the recipient (`Rcpt`), the Message-ID (`Dot`, `Accepted`), else empty.
    pub detail: String,
}
