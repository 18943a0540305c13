//! `apply`, for the command line and for steps: one plan, one way to carry it out.

mod drive;
mod feed;
mod fetch;
mod plan;
mod records;
mod stream;

pub use drive::{Progress, load};
pub(crate) use feed::Feed;
pub use plan::{Named, Plan, Wrong};
pub use records::Records;
pub use stream::Stream;
