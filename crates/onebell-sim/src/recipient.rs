//! The other side of a channel: it counts what arrives, answers late, wrongly or not at all.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;
use onebell::time::{ManualTimer, Timer};

use crate::executor::turn;
use crate::ground::Ground;

/// A receiver, as one replica's channel reaches it.
pub struct Recipient {
    /// What all share.
    pub ground: Arc<Ground>,
    /// Of the replica.
    pub timer: Arc<ManualTimer>,
    /// Whether it can tell a message that it had before.
    pub dedupes: bool,
}

/// What becomes of one content.
enum Fate {
    /// It arrives; whether the answer does, and when.
    Arrives { answered: bool, hangs: bool },
    /// It does not, and nothing of it can have.
    Breaks,
    /// The receiver says no.
    Refused,
    /// It does not, and nobody can know.
    Vanishes,
}

#[async_trait]
impl Channel for Recipient {
    fn window(&self) -> Duration {
        Duration::from_secs(if self.dedupes { 5 } else { 10 })
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        self.dawdle().await;
        let (drawn, trouble) = {
            let mut inner = self.ground.inner();
            (inner.dice.below(1000), inner.trouble.work)
        };
        if drawn < trouble / 2 {
            return Delivery::Deferred { error: "421 come back later".to_owned(), after: None };
        }
        if drawn < trouble * 6 / 10 {
            return Delivery::Rejected { error: "550 no such user".to_owned() };
        }
        let Some(permit) = gate.open().await else { return Delivery::GivenBack };
        self.dawdle().await;
        if !permit.holds() {
            return Delivery::Deferred { error: "the window passed before the content went out".to_owned(), after: None };
        }
        self.content(message).await
    }
}

impl Recipient {
    async fn content(&self, message: &Outgoing) -> Delivery {
        match self.fate() {
            Fate::Arrives { answered, hangs } => {
                self.ground.inner().shadow.arrived(&message.key, message.attempt, !self.dedupes);
                self.ground.note(|| format!("{} #{} arrives, answered: {answered}", message.key, message.attempt));
                self.dawdle().await;
                if hangs {
                    std::future::pending::<()>().await;
                }
                if answered {
                    Delivery::Accepted { receipt: "250 taken".to_owned() }
                } else {
                    Delivery::Unknown { error: "the line broke before the answer".to_owned() }
                }
            }
            Fate::Breaks => Delivery::Deferred { error: "the line broke before the end".to_owned(), after: None },
            Fate::Refused => Delivery::Rejected { error: "554 refused".to_owned() },
            Fate::Vanishes => Delivery::Unknown { error: "silence".to_owned() },
        }
    }

    fn fate(&self) -> Fate {
        let mut inner = self.ground.inner();
        let trouble = inner.trouble.work;
        let drawn = inner.dice.below(1000);
        if drawn >= trouble * 2 {
            return Fate::Arrives { answered: true, hangs: false };
        }
        match inner.dice.below(6) {
            0 => Fate::Breaks,
            1 => Fate::Refused,
            2 => Fate::Vanishes,
            3 => Fate::Arrives { answered: true, hangs: true },
            _ => Fate::Arrives { answered: false, hangs: false },
        }
    }

    async fn dawdle(&self) {
        let (kind, span, trouble) = {
            let mut inner = self.ground.inner();
            (inner.dice.below(1000), inner.dice.below(14_000), inner.trouble.work)
        };
        if kind < trouble {
            self.timer.sleep(Duration::from_millis(span)).await;
        } else if kind > 500 {
            turn().await;
        }
    }
}
