//! The storm: replicas are started, armed with the faults of the plan one at a time, and started again when they died.

mod accomplice;
mod calm;
mod seat;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use onebell::store::{RunFilter, RunView, Store};
use onebell::time::{SystemTimer, Timer};

use super::cast::Orders;
use super::own::own_failure;
use super::phase::{Phase, Place};
use super::plan::{Fault, Kind};
use super::scene::Scene;
use super::stage::Stage;
use crate::answer::Failure;
use crate::draw::Draw;
use seat::Seat;

/// Between two looks at the processes.
const TICK: Duration = Duration::from_millis(25);
/// Between two looks at the store.
const LOOK: Duration = Duration::from_millis(400);

/// What was done to the replicas.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) kills: u64,
    pub(super) pauses: u64,
    /// Stops beyond the plan, so that there was something to grant.
    pub(super) provoked: u64,
    pub(super) terms: u64,
    pub(super) cuts: u64,
    pub(super) hits: BTreeMap<Phase, u64>,
    /// Faults for which the moment never came.
    pub(super) unfired: Vec<Fault>,
    /// Replicas that ended by themselves: name, how, last words.
    pub(super) ended: Vec<(String, String, String)>,
    /// Runs that got a new budget because faults alone had spent it.
    pub(super) renewed: BTreeSet<String>,
    /// Everything came to an end in time.
    pub(super) settled: bool,
}

/// The storm over one stage.
pub(super) struct Storm<'s> {
    pub(super) stage: &'s Stage,
    pub(super) store: Arc<dyn Store>,
    pub(super) scene: Arc<Scene>,
    pub(super) orders: Orders,
    pub(super) jobs: Vec<String>,
    pub(super) runs: u64,
    pub(super) done: Done,
    draw: Draw,
    queue: VecDeque<Fault>,
    seats: Vec<Seat>,
    names: u32,
    looked: Duration,
    provoked_at: Duration,
    /// Parked runs that wait for a person because of a message in doubt: nothing else will come of them.
    held: BTreeSet<String>,
}

impl<'s> Storm<'s> {
    pub(super) fn new(
        stage: &'s Stage,
        store: Arc<dyn Store>,
        scene: Arc<Scene>,
        orders: Orders,
        (jobs, runs, seats): (Vec<String>, u64, u32),
        (seed, plan, phases): (u64, &[Fault], &[Phase]),
    ) -> Self {
        let mut queue: Vec<Fault> = plan.to_vec();
        if orders.real_steps {
            // Rows of the real command may be the same in every run: then only the first one has messages to send.
            queue.sort_by_key(|fault| !fault.of_messages());
        }
        Self {
            stage,
            store,
            scene,
            orders,
            jobs,
            runs,
            done: Done { hits: phases.iter().map(|phase| (*phase, 0)).collect(), ..Done::default() },
            draw: Draw::seeded(seed ^ 0x0073_746f_726d),
            queue: queue.into(),
            seats: (0..seats).map(|_| Seat::default()).collect(),
            names: 0,
            looked: Duration::ZERO,
            provoked_at: Duration::ZERO,
            held: BTreeSet::new(),
        }
    }

    /// Until the plan is through and the slots are opened, or the moment for what is left does not come.
    pub(super) async fn rage(&mut self) -> Result<(), Failure> {
        let faults = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        let until = SystemTimer.elapsed() + Duration::from_secs(60) + faults * Duration::from_secs(6);
        loop {
            self.tick(true).await?;
            self.provoke();
            if SystemTimer.elapsed() >= until {
                self.give_up();
                return Ok(());
            }
            let through = self.queue.is_empty() && self.seats.iter().all(Seat::is_unarmed);
            if self.looked + LOOK <= SystemTimer.elapsed() && self.look().await? >= self.runs && through {
                return Ok(());
            }
            SystemTimer.sleep(TICK).await;
        }
    }

    /// One look at every seat.
    async fn tick(&mut self, storm: bool) -> Result<(), Failure> {
        for index in 0..self.seats.len() {
            self.attend(index, storm).await?;
        }
        let armed = self.seats.iter().filter_map(Seat::fault);
        let wanted = self.queue.iter().chain(armed).filter(|fault| fault.of_messages()).count();
        self.scene.record().messages_wanted = wanted;
        Ok(())
    }

    /// How many runs the job with the fewest has. Runs that fail without any fault end everything: chaos has nothing to say of them.
    async fn look(&mut self) -> Result<u64, Failure> {
        self.looked = SystemTimer.elapsed();
        let filter = RunFilter { limit: 100_000, ..RunFilter::default() };
        let runs = match self.store.runs(&filter).await {
            Ok(runs) => runs,
            Err(error) if error.is_passing() => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let bad: Vec<&RunView> =
            runs.iter().filter(|run| matches!(run.status.as_str(), "failed" | "failing" | "parked")).collect();
        for run in bad {
            self.judge(run).await?;
        }
        let of = |job: &String| runs.iter().filter(|run| run.job == *job).count() as u64;
        Ok(self.jobs.iter().map(of).min().unwrap_or(0))
    }

    async fn judge(&mut self, run: &RunView) -> Result<(), Failure> {
        if self.held.contains(&run.id) {
            return Ok(());
        }
        let id = onebell::model::RunId::from_text(&run.id);
        let Ok(Some(detail)) = self.store.run(&id).await else { return Ok(()) };
        if let Some(why) = own_failure(&detail, self.done.cuts > 0) {
            return Err(Failure::Usage(why));
        }
        let has = |status: &str| detail.steps.iter().any(|step| step.status == status);
        if detail.run.status == "parked" && has("exhausted") {
            let actor =
                onebell::store::Actor { name: "onebell chaos".to_owned(), reason: Some("faults spent the budget".to_owned()) };
            if self.store.retry_run(&id, &actor).await.is_ok() {
                self.done.renewed.insert(run.id.clone());
                self.scene.note("", format!("run {} gets a new budget", run.id));
            }
        } else if detail.run.status != "failing" {
            self.held.insert(run.id.clone());
        }
        Ok(())
    }

    /// What is left of the plan will not happen.
    fn give_up(&mut self) {
        self.done.unfired.extend(self.queue.drain(..));
        for seat in &mut self.seats {
            self.done.unfired.extend(seat.disarm(&self.scene));
        }
    }

    /// A kill that happened.
    fn hit(&mut self, phase: Phase) {
        self.done.kills += 1;
        *self.done.hits.entry(phase).or_default() += 1;
    }

    async fn cut(&mut self) {
        match self.stage.cut().await {
            Ok(()) => {
                self.done.cuts += 1;
                self.scene.note("", "all connections to the database were cut");
            }
            Err(failure) => self.scene.note("", format!("the connections could not be cut: {failure:?}")),
        }
    }

    /// The next fault, if the storm goes on.
    fn next_fault(&mut self) -> Option<Fault> {
        self.queue.pop_front()
    }

    fn put_off(&mut self, fault: Fault) {
        let mut fault = Fault { put_off: fault.put_off + 1, nth: 1, ..fault };
        // A pause is a pause: when nobody comes by its point, any moment will do.
        if pause_of(&fault).is_some() && fault.put_off > 1 {
            fault.place = Place::Anywhere;
        }
        if fault.put_off > seat::PATIENCE {
            self.done.unfired.push(fault);
        } else {
            self.queue.push_back(fault);
        }
    }
}

/// A fault counts as a pause.
fn pause_of(fault: &Fault) -> Option<Duration> {
    if let Kind::Pause(span) = fault.kind { Some(span) } else { None }
}
