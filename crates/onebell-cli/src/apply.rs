//! `apply`, for the command line and for steps: one plan, one way to carry it out.

mod drive;
mod plan;
mod records;

pub use drive::{Ended, Progress, load};
pub use plan::{Plan, Wrong};
pub use records::Records;
