//! ROOM 1: what is true. Values and decisions: no I/O, no async, no clock, no randomness.

pub mod alarm;
pub mod batch;
pub mod behind;
pub mod claim;
pub mod effect;
pub mod fingerprint;
pub mod id;
pub mod job;
pub mod jump;
pub mod key;
pub mod lateness;
pub mod message;
pub mod moment;
pub mod overlap;
pub mod record;
pub mod recovery;
pub mod retry;
pub mod run;
pub mod schedule;
pub mod shown;
pub mod spelled;
pub mod step;
pub mod times;
pub mod transition;
pub mod turn;
pub mod vigil;
pub mod watch;
pub mod zone_file;
pub mod zone_version;

pub use claim::{BatchClaim, Claim, MessageClaim, Term};
pub use effect::{Conflict, Effect, Put};
pub use fingerprint::Fingerprint;
pub use id::{JobId, ReplicaId, RunId, StepId};
pub use job::{JobDefinition, StepDefinition};
pub use key::Key;
pub use moment::Moment;
