//! Renewals, sweeps and grants, as a replica's roles would make them.

use std::time::Duration;

use onebell::model::recovery::{Grant, RecoveryRequest, RequestKind};
use onebell::model::watch::Beat;
use onebell::model::{ReplicaId, StepId};
use onebell::store::{Prevented, Renewal, Sweep};

use super::world::World;

/// After how long a run in which nothing moves is asked for.
pub(crate) const STUCK_AFTER: Duration = Duration::from_secs(30);

/// After how long a ready step that nobody carries is asked for.
pub(crate) const ABSENT_AFTER: Duration = Duration::from_secs(60);

/// A sweep that judges the time and knows nobody lost.
pub(crate) fn sweep() -> Sweep {
    Sweep {
        by: ReplicaId::from_text("watcher"),
        lost: Vec::new(),
        judge_time: true,
        stuck_after: STUCK_AFTER,
        absent_after: ABSENT_AFTER,
        limit: 100,
    }
}

/// Everybody else's beats and what is to be ended; none: this replica is lost.
pub(crate) type Renewed = Option<(Vec<Beat>, Vec<StepId>)>;

impl World {
    /// Renews the replica's lease.
    pub(crate) async fn renews(&self, replica: &ReplicaId) -> Renewed {
        match self.store.renew(replica, &Prevented::default()).await.unwrap() {
            Renewal::Renewed { beats, cancelling, now } => {
                assert_eq!(now, self.now());
                Some((beats, cancelling))
            }
            Renewal::Lost => None,
        }
    }

    /// The replica's beat as an observer reads it.
    pub(crate) async fn beat(&self, replica: &ReplicaId) -> Beat {
        let replicas = self.store.replicas().await.unwrap();
        let found = replicas.iter().find(|view| view.id == replica.as_str()).expect("an enlisted replica");
        Beat { replica: replica.clone(), beat: found.beat, lease: Duration::from_secs(10) }
    }

    /// Asks for the replica's loss, with the beat that stands.
    pub(crate) async fn asks_for_loss(&self, replica: &ReplicaId) -> u32 {
        let lost = vec![self.beat(replica).await];
        self.store.request_recovery(&Sweep { lost, judge_time: false, ..sweep() }).await.unwrap()
    }

    /// The replica is found lost and that is granted: how much it held was recovered.
    pub(crate) async fn declare_lost(&self, replica: &ReplicaId) -> u32 {
        self.asks_for_loss(replica).await;
        match self.grant(RequestKind::Replica, replica.as_str()).await {
            Grant::Granted { moved } => moved,
            Grant::Refused => panic!("the loss of {replica} was refused"),
        }
    }

    /// The open request about this one.
    pub(crate) async fn open_request(&self, kind: RequestKind, id: &str) -> RecoveryRequest {
        let open = self.store.open_requests(100).await.unwrap();
        open.into_iter()
            .find(|request| request.kind == kind && request.id == id)
            .unwrap_or_else(|| panic!("nobody asked for {kind} {id}"))
    }

    /// Grants the open request about this one, or hears that it is refused.
    pub(crate) async fn grant(&self, kind: RequestKind, id: &str) -> Grant {
        let request = self.open_request(kind, id).await;
        assert!(self.scheduler_has_work().await, "a pass would have rested");
        self.store.grant(&request).await.unwrap()
    }

    /// One look over everything, by the clock as it stands: how many requests were new.
    pub(crate) async fn sweeps(&self) -> u32 {
        self.store.request_recovery(&sweep()).await.unwrap()
    }

    /// Grants whatever is asked for; how many were granted.
    pub(crate) async fn grant_all(&self) -> usize {
        let mut granted = 0;
        for request in self.store.open_requests(100).await.unwrap() {
            granted += usize::from(matches!(self.store.grant(&request).await.unwrap(), Grant::Granted { .. }));
        }
        granted
    }
}
