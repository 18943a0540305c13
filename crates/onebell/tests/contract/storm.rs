//! Every verb at once, from several processes, in an order drawn from a fixed seed: no call ends in an error, nothing is written
//! twice, and afterwards nothing is stuck.

use std::sync::Arc;

use onebell::model::job::Overlap;
use onebell::model::message::Delivery;
use onebell::model::overlap::Origin;
use onebell::model::step::Verdict;
use onebell::model::{Effect, JobId, ReplicaId, RunId};
use onebell::store::{ClaimSteps, PlannedSlot, Prevented, Renewal, Resolution, RunFilter, Settlement, SlotPlan, Store, Sweep};
use onebell::time::ManualClock;

use super::given::*;
use super::outbox::{accepted, asks, deferred, unknown};
use super::recovering::sweep;
use super::world::World;

contract!(a_storm_of_every_verb_ends_without_an_error_and_leaves_nothing_twice_and_nothing_stuck);

const ACTORS: u64 = 4;
const ACTS: u32 = 60;

/// A fixed sequence per seed (xorshift): which verb comes next must not depend on the machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// One process: it may die and come back under another id.
struct Actor {
    store: Arc<dyn Store>,
    clock: ManualClock,
    dice: Dice,
    name: String,
    lives: u32,
    me: ReplicaId,
    carried: Vec<JobId>,
}

fn effects_of(step: &onebell::model::StepId) -> Vec<Effect> {
    let of = |scope: &str, name: &str| Effect::new(key(scope), key(name), Some(1), "\"done\"").unwrap();
    let shared = step.as_str().bytes().map(u64::from).sum::<u64>() % 7;
    vec![of("steps", step.as_str()), of("shared", &shared.to_string()), of("shared", &(shared + 1).to_string())]
}

impl Actor {
    async fn act(&mut self) {
        match self.dice.below(16) {
            0..=4 => self.work().await,
            5 | 6 => self.relay().await,
            7 | 8 => self.schedule().await,
            9 => self.supervise().await,
            10 => drop(self.store.trigger(&request("flow", &format!("{}", self.dice.below(60)), None)).await.unwrap()),
            11 => self.slot().await,
            12 | 13 => self.person().await,
            14 => self.renew().await,
            _ => self.clock.advance(seconds(7)),
        }
    }

    fn asks(&mut self) -> ClaimSteps {
        let start = u32::try_from(self.dice.below(4)).unwrap();
        ClaimSteps {
            replica: self.me.clone(),
            jobs: self.carried.clone(),
            handlers: handlers(),
            queues: vec!["default".to_owned()],
            start,
            prefetch: 2,
            idle: true,
            run: None,
        }
    }

    async fn work(&mut self) {
        let ask = self.asks();
        self.store.claim_steps(&ask).await.unwrap();
        let held = self.store.held_steps(&self.me).await.unwrap();
        let mut set = Vec::new();
        for step in &held {
            let plain = match self.dice.below(12) {
                0 => continue,
                1 => fails(&step.claim),
                2 => retries(&step.claim),
                3 => gives_back(&step.claim),
                4 => stops(&step.claim),
                5 => ends(&step.claim, Verdict::Cancelled),
                _ => Settlement { effects: effects_of(step.claim.step()), ..succeeds(&step.claim) },
            };
            let puts_mail = plain.verdict == Verdict::Succeeded && step.name == "mails";
            let messages = if puts_mail {
                vec![mail(&format!("shared {}", self.dice.below(5))), mail(step.claim.step().as_str())]
            } else {
                Vec::new()
            };
            set.push(Settlement { messages, ..plain });
        }
        if self.dice.below(2) == 0 {
            set.reverse();
        }
        let claims: Vec<_> = held.iter().map(|step| step.claim.clone()).collect();
        self.store.start_steps(&claims).await.unwrap();
        if let Some(claim) = claims.first() {
            self.store.extend_step(claim).await.unwrap();
        }
        let again = set.clone();
        self.store.settle_steps(set).await.unwrap();
        if self.dice.below(4) == 0 {
            self.store.settle_steps(again).await.unwrap();
        }
    }

    async fn relay(&mut self) {
        for message in self.store.claim_messages(&asks(&self.me, 4)).await.unwrap() {
            if self.dice.below(8) == 0 {
                continue;
            }
            if self.dice.below(4) > 0 {
                self.store.mark_sending(&message.claim, seconds(30)).await.unwrap();
            }
            let delivery = match self.dice.below(6) {
                0 => deferred(),
                1 => unknown(),
                2 => Delivery::GivenBack,
                _ => accepted(),
            };
            self.store.settle_messages(&[(message.claim, delivery)]).await.unwrap();
        }
    }

    async fn schedule(&mut self) {
        for request in self.store.open_requests(20).await.unwrap() {
            self.store.grant(&request).await.unwrap();
        }
        self.store.close_deliveries(20).await.unwrap();
        self.store.admit_runs(&self.carried, 20).await.unwrap();
    }

    async fn supervise(&mut self) {
        let Renewal::Renewed { mut beats, .. } = self.store.renew(&self.me, &Prevented::default()).await.unwrap() else {
            return self.revive().await;
        };
        let lost = beats.drain(..).filter(|_| self.dice.below(6) == 0).collect();
        self.store.request_recovery(&Sweep { lost, ..sweep() }).await.unwrap();
    }

    async fn slot(&mut self) {
        let state = self.store.jobs_named(Some(&["minutely".to_owned()])).await.unwrap().remove(0);
        let cursor = state.cursor + MINUTE;
        let open = vec![PlannedSlot { at: cursor, origin: Origin::Slot }];
        let (version, cursor_seen) = (state.version, state.cursor);
        let plan =
            SlotPlan { job: state.id, version, cursor_seen, cursor, next_slot: None, open, skips: Vec::new(), actor: None };
        self.store.open_slots(&plan).await.unwrap();
    }

    async fn person(&mut self) {
        let runs = self.store.runs(&RunFilter { limit: 30, ..RunFilter::default() }).await.unwrap();
        let Some(run) = runs.get(usize::try_from(self.dice.below(30)).unwrap()) else { return };
        let run = RunId::from_text(&run.id);
        match self.dice.below(4) {
            0 => drop(self.store.cancel_run(&run, &actor()).await.unwrap()),
            1 | 2 => drop(self.store.retry_run(&run, &actor()).await.unwrap()),
            _ => drop(self.store.resolve_step(&run, "first", Resolution::Retry, &actor()).await.unwrap()),
        }
    }

    async fn renew(&mut self) {
        match self.dice.below(5) {
            0 => self.store.leave(&self.me).await.unwrap(),
            _ => drop(self.store.renew(&self.me, &Prevented::default()).await.unwrap()),
        }
        self.revive().await;
    }

    /// A new life under a new id, if the old one is over.
    async fn revive(&mut self) {
        if self.store.renew(&self.me, &Prevented::default()).await.unwrap() == Renewal::Lost {
            self.lives += 1;
            self.me = ReplicaId::from_text(format!("{}-{}", self.name, self.lives));
            enlist(&*self.store, &self.me).await;
        }
    }
}

async fn enlist(store: &dyn Store, id: &ReplicaId) {
    let info = onebell::store::ReplicaInfo {
        id: id.clone(),
        label: String::new(),
        version: String::new(),
        tzdata: String::new(),
        jobs: std::collections::BTreeMap::new(),
        handlers: handlers(),
        queues: vec!["default".to_owned()],
        channels: channels(),
        lease: std::time::Duration::from_secs(10),
    };
    store.enlist(&info).await.unwrap();
}

async fn a_storm_of_every_verb_ends_without_an_error_and_leaves_nothing_twice_and_nothing_stuck(world: World) {
    let steps = vec![
        undoable(step("first")),
        undoable(step_after("second", &["first"])),
        step_after("mails", &["first"]),
        step_after("last", &["second", "mails"]),
    ];
    world.register(&job("flow", steps.clone())).await;
    world.register(&with(minutely("minutely", Overlap::Queue), |job| job.steps = steps)).await;
    let mut calls = Vec::new();
    for (n, store) in (1..=ACTORS).zip(world.others(usize::try_from(ACTORS).unwrap()).await) {
        let (name, me) = (format!("actor{n}"), ReplicaId::from_text(format!("actor{n}-0")));
        enlist(&*store, &me).await;
        let dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (n << 20));
        let mut actor = Actor { store, clock: world.clock.clone(), dice, name, lives: 0, me, carried: world.carried() };
        calls.push(async move {
            for _ in 0..ACTS {
                actor.act().await;
            }
        });
    }
    at_once(calls).await;
    nothing_is_there_twice(&world).await;
    quiet_down(&world).await;
    nothing_is_there_twice(&world).await;
}

async fn nothing_is_there_twice(world: &World) {
    let done =
        "SELECT count(DISTINCT step_id) FROM {attempts} WHERE outcome IN ('succeeded', 'delivering') AND replica IS NOT NULL";
    assert_eq!(
        world.rows("effects", "scope = 'steps'").await,
        world.number(done).await,
        "each step that did its work has its effect"
    );
    assert!(world.rows("effects", "scope = 'shared'").await <= 8);
    assert_eq!(
        world
            .number("SELECT count(*) FROM {job_steps} s JOIN {attempts} a ON a.step_id = s.step_id WHERE a.final = 'succeeded'")
            .await,
        0
    );
    assert_eq!(
        world
            .number("SELECT count(*) FROM {attempts} a JOIN {job_steps} s ON a.step_id = s.step_id WHERE a.attempt > s.attempt")
            .await,
        0
    );
    let twice = "SELECT count(*) FROM (SELECT step_id FROM {attempts} WHERE final IS NOT NULL GROUP BY step_id HAVING count(*) > 1) twice";
    assert_eq!(world.number(twice).await, 0, "one end of each step");
    // An undo that a person lets go on waits for no admission: only what was admitted is one at a time.
    assert!(world.rows("runs", "status = 'running' AND job_id = 'minutely'").await <= 1, "one at a time");
    let half_done = "status = 'succeeded' AND run_id IN (SELECT run_id FROM {job_steps})";
    assert_eq!(world.rows("runs", half_done).await, 0);
}

/// Whoever acted is gone; a fresh process does what is left, and people let every parked run go on once.
async fn quiet_down(world: &World) {
    for view in world.store.replicas().await.unwrap() {
        world.store.leave(&ReplicaId::from_text(view.id)).await.unwrap();
    }
    let fresh = world.replica("fresh").await;
    for round in 0..40 {
        world.pass(TIMEOUT * 2);
        world.sweeps().await;
        world.grant_all().await;
        world.close().await;
        world.admit().await;
        for message in world.store.claim_messages(&asks(&fresh, 100)).await.unwrap() {
            world.mark(&message.claim).await;
            world.deliver(&message.claim, accepted()).await;
        }
        let claimed = world.claim(&fresh, 100).await;
        let set = claimed.iter().map(|step| Settlement { effects: effects_of(step.claim.step()), ..succeeds(&step.claim) });
        world.store.settle_steps(set.collect()).await.unwrap();
        if round == 15 {
            for run in world.store.runs(&RunFilter { limit: 500, ..RunFilter::default() }).await.unwrap() {
                world.store.retry_run(&RunId::from_text(run.id), &actor()).await.unwrap();
            }
        }
    }
    let open = "status NOT IN ('succeeded', 'failed', 'cancelled', 'parked')";
    assert_eq!(world.rows("runs", open).await, 0, "nothing is stuck");
    assert_eq!(world.rows("runs", "status = 'parked' AND reason IS NULL").await, 0);
    assert!(world.store.is_idle().await.unwrap());
}
