use std::time::Duration;

use async_trait::async_trait;
use onebell::model::message::Delivery;
use onebell::model::{MessageClaim, ReplicaId};
use onebell::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, Result};

use super::FaultyStore;
use crate::call::{Detail, Port};

#[async_trait]
impl RelayStore for FaultyStore {
    async fn claim_messages(&self, request: &ClaimMessages) -> Result<Vec<ClaimedMessage>> {
        let detail = |answer: &Vec<ClaimedMessage>| Detail::MessagesClaimed { request: request.clone(), answer: answer.clone() };
        self.through("claim_messages", Port::Relay, self.ground.store().claim_messages(request), detail).await
    }

    async fn held_messages(&self, replica: &ReplicaId) -> Result<Vec<ClaimedMessage>> {
        self.reading("held_messages", self.ground.store().held_messages(replica)).await
    }

    async fn mark_sending(&self, claim: &MessageClaim, window: Duration) -> Result<Marked> {
        let detail = |answer: &Marked| Detail::Marked { claim: claim.clone(), answer: *answer };
        self.through("mark_sending", Port::Relay, self.ground.store().mark_sending(claim, window), detail).await
    }

    async fn settle_messages(&self, deliveries: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>> {
        let detail =
            |answer: &Vec<MessageSettled>| Detail::MessagesSettled { deliveries: deliveries.to_vec(), answer: answer.clone() };
        self.through("settle_messages", Port::Relay, self.ground.store().settle_messages(deliveries), detail).await
    }
}
