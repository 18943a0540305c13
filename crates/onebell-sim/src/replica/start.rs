//! The rounds of the loops, as futures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use onebell::model::zone_version::Left;
use onebell::model::{JobId, ReplicaId, StepId};
use onebell::roles::agent::Room;
use onebell::roles::scheduler::{RegisterError, Rules, register};
use onebell::roles::{janitor, leader, scheduler, supervisor};
use onebell::store::{
    LeaderStore, Prevented, ReplicaInfo, ReplicaStore, Result, Retention, SchedulerStore, StoreError, SupervisorStore,
};
use onebell::time::Timer;

use super::{Carries, DELIVERIES, Done, LEASE, Loop, Replica, Stage, TERM_AFTER, What};
use crate::executor::Hand;
use crate::faulty::FaultyStore;

impl Replica {
    /// Begins a round.
    pub(super) fn start(&mut self, round: Loop) {
        self.due[round as usize] = self.timer.elapsed() + round.period();
        let future = match round {
            Loop::Renew => Some(self.renew()),
            Loop::Schedule => self.vouched().map(|_| self.schedule()),
            Loop::Supervise => self.vouched().map(|id| self.supervise(id)),
            Loop::Take if self.stage != Stage::Working => Some(self.give_back()),
            Loop::Take => self.take(),
            Loop::Deliver => self.deliver(),
            Loop::Lead => self.vouched().map(|id| self.lead(id)),
            Loop::Leave => Some(self.leave()),
        };
        if let Some(future) = future {
            self.hands.push((What::Round(round), Hand::new(future)));
        }
    }

    fn renew(&self) -> BoxFuture<'static, Done> {
        let asked = self.timer.elapsed();
        let (store, timer) = (Arc::clone(&self.store), Arc::clone(&self.timer));
        let Some(id) = self.identity.clone() else {
            if self.stage != Stage::Working {
                // It leaves without ever having been there.
                return async { Done::Left(true) }.boxed();
            }
            let id = ReplicaId::from_text(format!("r{:08x}", self.ground.inner().dice.draw() >> 32));
            let carries = self.carries.clone();
            return async move { Done::Enlisted(enlist(&store, id, carries).await, asked) }.boxed();
        };
        let fence = (self.vouch.borrow().renewed_at + TERM_AFTER).saturating_sub(asked);
        async move {
            let prevented = Prevented::default();
            let renewal = store.renew(&id, &prevented);
            let answer = match select(std::pin::pin!(renewal), timer.sleep(fence)).await {
                Either::Left((answer, _)) => answer,
                Either::Right(_) => Err(StoreError::away("the renewal was not answered in time")),
            };
            Done::Renewed(answer, asked)
        }
        .boxed()
    }

    fn schedule(&mut self) -> BoxFuture<'static, Done> {
        let (store, jobs) = (Arc::clone(&self.store), self.jobs.clone());
        let believed = self.guards[0].believes(self.ground.clock.now(), self.timer.elapsed());
        async move {
            Done::Scheduled(
                scheduler::pass(store.as_ref() as &dyn SchedulerStore, &rules(), &mut Left::default(), &jobs, believed).await,
            )
        }
        .boxed()
    }

    fn supervise(&mut self, id: ReplicaId) -> BoxFuture<'static, Done> {
        let (store, lost) = (Arc::clone(&self.store), self.lost.clone());
        let believed = self.guards[1].believes(self.ground.clock.now(), self.timer.elapsed());
        async move {
            drop(supervisor::pass(store.as_ref() as &dyn SupervisorStore, &id, lost, believed).await);
            Done::Supervised
        }
        .boxed()
    }

    /// As `replica::work::Hands::fill`.
    fn take(&mut self) -> Option<BoxFuture<'static, Done>> {
        let Some(replica) = self.vouched() else {
            self.waiting.clear();
            return None;
        };
        self.waiting.retain(|work| *work.step.claim.replica() == replica);
        let agent = self.agent.clone();
        if self.unsure_steps {
            let mut known: Vec<(StepId, u64)> = self.in_hand.keys().cloned().collect();
            known.extend(self.waiting.iter().map(|work| (work.step.claim.step().clone(), work.step.claim.attempt())));
            return Some(
                async move {
                    let is_known =
                        |step: &onebell::store::ClaimedStep| known.contains(&(step.claim.step().clone(), step.claim.attempt()));
                    Done::Adopted(agent.adopt(&replica, &is_known).await)
                }
                .boxed(),
            );
        }
        self.start_waiting();
        let idle = self.in_hand.is_empty() && self.waiting.is_empty();
        self.alone &= !idle;
        self.drain &= !idle;
        let start = small(self.concurrency.saturating_sub(self.in_hand.len()));
        let prefetch = self.prefetch.saturating_sub(small(self.waiting.len()));
        if self.alone || self.drain || start + prefetch == 0 {
            return None;
        }
        let room =
            Room { replica, jobs: self.jobs.clone(), queues: owned(&self.carries.queues), start, prefetch, idle, run: None };
        Some(async move { Done::Taken(agent.pass(&room).await) }.boxed())
    }

    fn give_back(&mut self) -> BoxFuture<'static, Done> {
        let steps: Vec<_> = self.waiting.drain(..).map(|work| work.step).collect();
        let agent = self.agent.clone();
        async move {
            drop(agent.give_back(&steps).await);
            Done::Supervised
        }
        .boxed()
    }

    /// As `replica::relay::Hands::take`.
    fn deliver(&self) -> Option<BoxFuture<'static, Done>> {
        let replica = self.vouched()?;
        let relay = self.relay.clone();
        if self.unsure_messages {
            let known = self.messages.clone();
            return Some(async move { Done::Recovered(relay.adopt(&replica, &|key| known.contains(key)).await) }.boxed());
        }
        let free = small(DELIVERIES.saturating_sub(self.messages.len()));
        if free == 0 {
            return None;
        }
        Some(async move { Done::Claimed(relay.pass(&replica, free).await) }.boxed())
    }

    fn lead(&self, id: ReplicaId) -> BoxFuture<'static, Done> {
        let (store, jobs) = (Arc::clone(&self.store), self.jobs.clone());
        let keep = Duration::from_secs(40);
        let retention = Retention { jobs, runs: keep, keys: keep * 2, replicas: keep, limit: 20 };
        async move {
            let (store, retention) = (store.as_ref(), &retention);
            let led = leader::pass(store as &dyn LeaderStore, janitor::DUTY, &id, LEASE, |term| async move {
                janitor::pass(store, &term, retention).await
            });
            drop(led.await);
            Done::Led
        }
        .boxed()
    }

    fn leave(&self) -> BoxFuture<'static, Done> {
        let (store, id) = (Arc::clone(&self.store), self.identity.clone());
        async move {
            if let Some(id) = id {
                // One that cannot say goodbye is found lost.
                drop(store.leave(&id).await);
            }
            Done::Left(true)
        }
        .boxed()
    }
}

fn rules() -> Rules<'static> {
    Rules { zones: jiff::tz::db(), version: "bundled", patience: LEASE, replica: None }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn owned(names: &[&'static str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// As `replica::identity::enlist`.
async fn enlist(store: &FaultyStore, id: ReplicaId, carries: Carries) -> Result<(ReplicaId, Vec<JobId>)> {
    let mut info = ReplicaInfo {
        id: id.clone(),
        label: "simulated".to_owned(),
        version: "0".to_owned(),
        tzdata: "bundled".to_owned(),
        jobs: BTreeMap::new(),
        handlers: owned(&carries.handlers),
        queues: owned(&carries.queues),
        channels: owned(&carries.channels),
        lease: LEASE,
    };
    store.enlist(&info).await?;
    for carried in &carries.jobs {
        match register(store, &rules(), &id, carried).await {
            Ok(job) => drop(info.jobs.insert(job, carried.hash.clone())),
            Err(RegisterError::Store(error)) => return Err(error),
            Err(error) => return Err(StoreError::broken(error.to_string())),
        }
    }
    store.enlist(&info).await?;
    Ok((id, info.jobs.into_keys().collect()))
}
