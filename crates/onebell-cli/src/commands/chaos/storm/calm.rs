//! After the storm: no more faults and no more slots. Everything has to come to an end by itself.

use std::time::Duration;

use onebell::roles::scheduler;
use onebell::store::{Actor, ReplicaView};
use onebell::time::{SystemTimer, Timer};

use super::super::fleet;
use super::{Seat, Storm, TICK};
use crate::answer::Failure;

/// Everything that is still under way ends within this, or is stuck.
const SETTLE: Duration = Duration::from_secs(180);
/// For an act that the database refuses for the moment.
const ACT: Duration = Duration::from_secs(60);

impl Storm<'_> {
    /// Waits until all is settled, then ends the replicas.
    pub(in super::super) async fn calm(&mut self) -> Result<(), Failure> {
        self.scene.note("", "the storm is over: no more faults, no more slots");
        for seat in &mut self.seats {
            self.done.unfired.extend(seat.disarm(&self.scene));
        }
        self.close_slots().await?;
        let until = SystemTimer.elapsed() + SETTLE;
        while !self.done.settled && SystemTimer.elapsed() < until {
            self.tick(false).await?;
            if self.looked + super::LOOK <= SystemTimer.elapsed() {
                self.look().await?;
                let full = self.seats.iter().all(Seat::is_unarmed);
                self.done.settled = full && self.is_settled().await;
            }
            SystemTimer.sleep(TICK).await;
        }
        self.dismiss().await;
        Ok(())
    }

    /// Nothing is under way, and everybody who died was missed: a request for one of them would come later.
    async fn is_settled(&self) -> bool {
        let playing: Vec<&str> = self.seats.iter().filter_map(Seat::name).collect();
        let live = |replica: &ReplicaView| replica.lost_at.is_none() && replica.left_at.is_none();
        let known = |replica: &ReplicaView| playing.iter().any(|name| replica.label.split('/').next() == Some(name));
        let missed = self.store.replicas().await;
        if !missed.is_ok_and(|replicas| replicas.iter().filter(|replica| live(replica)).all(known)) {
            return false;
        }
        let asked = self.store.recoveries(100_000).await;
        let asked = asked.is_ok_and(|requests| requests.iter().all(|request| request.granted_at.is_some()));
        asked && self.store.is_idle().await.unwrap_or(false)
    }

    /// No slot is opened any longer; each one up to now is accounted for.
    async fn close_slots(&mut self) -> Result<(), Failure> {
        let actor = Actor { name: "onebell chaos".to_owned(), reason: Some("the storm is over".to_owned()) };
        for job in &self.jobs {
            let until = SystemTimer.elapsed() + ACT;
            loop {
                match scheduler::pause(self.store.as_ref(), onebell::replica::ZoneData::newest().zones(), job, &actor).await {
                    Ok(_) => break,
                    Err(error) if error.is_passing() && SystemTimer.elapsed() < until => SystemTimer.sleep(TICK).await,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Ends every replica; one that does not end when it is asked is told.
    pub(in super::super) async fn dismiss(&mut self) {
        let grace = self.orders.lease * 4 + Duration::from_secs(10);
        let mut playing: Vec<_> = self.seats.iter_mut().filter_map(Seat::take).collect();
        let ends = playing.iter_mut().map(|(_, child)| fleet::end(child, grace));
        let ended = futures_util::future::join_all(ends).await;
        for ((name, _), ended) in playing.into_iter().zip(ended) {
            if !ended {
                let words = self.last_words(&name);
                self.done.ended.push((name, "did not end after SIGTERM".to_owned(), words));
            }
        }
    }
}
