//! Callbacks: an `http` step that is answered `202` is settled by what the service says later, to any replica that listens.
//!
//! A request of such a step names its [`Address`], which nobody else can make up: it is proven by the step's secret, and the same on
//! every attempt. What comes there is signed as the Standard Webhooks specification has it, with the same secret. It is kept in the
//! store before it is acknowledged, and whoever holds the step goes by it: this attempt, or the next one if this one is lost. Nothing
//! here settles anything.

mod address;
mod desk;
mod said;

pub use address::Address;
pub use desk::{Desk, Letter, Reply};
pub use said::Said;

/// The header that names it.
pub const HEADER: &str = "onebell-callback";
/// All addresses begin so.
pub const PREFIX: &str = "/callbacks/";
