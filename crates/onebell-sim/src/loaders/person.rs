use std::sync::Arc;

use futures_util::FutureExt;
use onebell::store::{Actor, BatchStore};
use onebell::time::ManualTimer;

use crate::executor::Hand;
use crate::faulty::FaultyStore;
use crate::ground::Ground;

/// Cancels batches, and wants them to go on.
pub(super) struct Person {
    ground: Arc<Ground>,
    store: Arc<FaultyStore>,
    pub(super) timer: Arc<ManualTimer>,
    hands: Vec<Hand<()>>,
}

impl Person {
    pub(super) fn new(ground: &Arc<Ground>, number: usize) -> Self {
        let timer = Arc::new(ManualTimer::default());
        let store = Arc::new(FaultyStore::new(Arc::clone(ground), Arc::clone(&timer), number));
        Self { ground: Arc::clone(ground), store, timer, hands: Vec::new() }
    }

    pub(super) fn leave(&mut self) {
        self.hands.clear();
    }

    pub(super) fn ready(&self) -> usize {
        self.hands.iter().filter(|hand| hand.is_woken()).count()
    }

    pub(super) fn go(&mut self, nth: usize) {
        let place = self.hands.iter().enumerate().filter(|(_, hand)| hand.is_woken()).map(|(place, _)| place).nth(nth);
        if let Some(place) = place
            && self.hands[place].poll().is_some()
        {
            self.hands.remove(place);
        }
    }

    /// Any batch, whatever stands there: what is not possible is refused.
    pub(super) fn act(&mut self) {
        let (batch, cancels) = {
            let mut inner = self.ground.inner();
            let (cancels, any) = (inner.dice.chance(500), inner.dice.chance(200));
            let wanted = |status: &str| any || if cancels { status == "running" } else { status == "cancelled" };
            let batches = inner.now().batches.iter().filter(|(_, row)| wanted(&row.status));
            let batches: Vec<String> = batches.map(|(key, _)| key.to_owned()).collect();
            if batches.is_empty() {
                return;
            }
            (inner.dice.pick(&batches).clone(), cancels)
        };
        self.ground.note(|| format!("somebody wants {batch} to {}", if cancels { "end" } else { "go on" }));
        let (store, actor) = (Arc::clone(&self.store), Actor { name: "somebody".to_owned(), reason: None });
        let act = async move {
            drop(if cancels { store.cancel_batch(&batch, &actor).await } else { store.resume_batch(&batch, &actor).await });
        };
        self.hands.push(Hand::new(act.boxed()));
    }
}
