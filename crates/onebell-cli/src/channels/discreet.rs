//! Keeps the job file's secrets out of what receivers are quoted with: it is stored, shown and sent in alarms.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;

use crate::keeper::mask_text;

/// A channel whose answers are looked through.
pub(super) struct Discreet {
    pub(super) inner: Arc<dyn Channel>,
    pub(super) secrets: Vec<String>,
}

#[async_trait]
impl Channel for Discreet {
    fn window(&self) -> Duration {
        self.inner.window()
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        let words = |text: String| mask_text(&text, &self.secrets);
        match self.inner.deliver(message, gate).await {
            Delivery::Accepted { receipt } => Delivery::Accepted { receipt: words(receipt) },
            Delivery::Deferred { error, after } => Delivery::Deferred { error: words(error), after },
            Delivery::Rejected { error } => Delivery::Rejected { error: words(error) },
            Delivery::Unknown { error } => Delivery::Unknown { error: words(error) },
            Delivery::GivenBack => Delivery::GivenBack,
        }
    }
}
