//! ROOM 4: what users write. A [`Handler`] runs a step, a [`Channel`] delivers a message. Neither
//! touches states: they answer an [`Outcome`] or a `Delivery`, and the role settles it under its claim.

mod channel;
mod context;
mod outcome;
mod source;
mod stop;

pub use channel::{Channel, Gate, Outgoing, Permit};
pub use context::{AttemptOf, Context, Handler, Vouch};
pub use outcome::{Done, Outcome};
pub use source::{Page, PageLimit, Source, SourceError};
pub use stop::{Stop, StopReason, Stopper};
