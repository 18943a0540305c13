//! Effects: results with identity. One per (scope, key), for ever.

use serde::{Deserialize, Serialize};

use super::fingerprint::{CanonicalError, canonical};
use super::{Fingerprint, Key};

/// A result to be written into the ledger together with the step's completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// What the keys are unique in.
    pub scope: Key,
    /// Identity within the scope.
    pub key: Key,
    /// Of the payload.
    pub fingerprint: Fingerprint,
    /// Exact, in minor units, when the effect is money or a count.
    pub amount: Option<i64>,
    /// JSON text.
    pub payload: String,
}

impl Effect {
    /// An effect with the fingerprint of its payload.
    pub fn new(scope: Key, key: Key, amount: Option<i64>, payload: impl Into<String>) -> Result<Self, CanonicalError> {
        let payload = payload.into();
        // By itself first: pasted between others, `1,"x":2` would read as JSON.
        canonical(&payload)?;
        let identity = match amount {
            Some(amount) => format!("{{\"amount\":{amount},\"payload\":{payload}}}"),
            None => payload.clone(),
        };
        Ok(Self { scope, key, fingerprint: Fingerprint::of_json(&identity)?, amount, payload })
    }
}

/// What became of an effect or a message that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Written now.
    Applied,
    /// Written before with the same payload.
    Already,
}

/// Same key, other payload: nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "conflict: {what} {key:?} exists with another payload (kept {kept}, refused {refused}); use another key, or send the same payload"
)]
pub struct Conflict {
    /// `effect`, `message` or `request`.
    pub what: String,
    /// The key.
    pub key: String,
    /// The fingerprint in the store.
    pub kept: Fingerprint,
    /// The fingerprint that was refused.
    pub refused: Fingerprint,
}
