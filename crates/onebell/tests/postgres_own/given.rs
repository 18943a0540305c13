//! A store with one job, and the verbs in the shape that tests want.

use std::collections::BTreeMap;
use std::time::Duration;

use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
use onebell::model::step::{StepStatus, Verdict};
use onebell::model::{JobId, Key, Moment, ReplicaId, RunId};
use onebell::store::postgres::PostgresStore;
use onebell::store::{
    Actor, AgentStore, ClaimSteps, ClaimedStep, Definition, OperatorStore, ReadStore, ReplicaInfo, ReplicaStore, Result,
    SchedulerStore, Settled, Settlement, StepOutput, Trigger, Triggered, Work,
};
use tokio_postgres::{Client, Config, NoTls};

pub(crate) const JOB: &str = "loads";

pub(crate) fn replica() -> ReplicaId {
    ReplicaId::from_text("replica-1")
}

/// A connection past the store.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Registers the job of one step, and a replica that carries it.
pub(crate) async fn prepare(store: &PostgresStore) {
    let mut definition = JobDefinition::new(JOB);
    definition.overlap = Overlap::Allow;
    definition.steps.push(StepDefinition { timeout: Duration::from_secs(60), ..StepDefinition::new("load", "h") });
    let info = ReplicaInfo {
        id: replica(),
        label: "test".into(),
        version: "1".into(),
        tzdata: "2026f".into(),
        jobs: BTreeMap::new(),
        handlers: vec!["h".into()],
        queues: vec!["default".into()],
        channels: Vec::new(),
        lease: Duration::from_secs(10),
    };
    store.enlist(&info).await.unwrap();
    let definition = Definition {
        id: JobId::of_name(JOB),
        definition,
        hash: "h".into(),
        seen: None,
        cursor: Moment::from_micros(0),
        next_slot: None,
        by: replica(),
    };
    store.define_job(&definition).await.unwrap();
}

pub(crate) async fn open(store: &PostgresStore, key: &str) -> RunId {
    let actor = Actor { name: "test".into(), reason: None };
    let trigger = Trigger { job: JOB.into(), key: Key::new(key).unwrap(), input: None, actor };
    match store.trigger(&trigger).await.unwrap() {
        Triggered::Opened(run) => run,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn asks(start: u32) -> ClaimSteps {
    ClaimSteps {
        replica: replica(),
        jobs: vec![JobId::of_name(JOB)],
        handlers: vec!["h".into()],
        queues: vec!["default".into()],
        start,
        prefetch: 0,
        idle: true,
        run: None,
    }
}

/// Opens a run and claims its step.
pub(crate) async fn claimed(store: &PostgresStore, key: &str) -> ClaimedStep {
    open(store, key).await;
    let mut claimed = store.claim_steps(&asks(1)).await.unwrap().claimed;
    assert_eq!(claimed.len(), 1);
    claimed.remove(0)
}

pub(crate) fn succeeds(step: &ClaimedStep) -> Settlement {
    Settlement {
        claim: step.claim.clone(),
        verdict: Verdict::Succeeded,
        effects: Vec::new(),
        messages: Vec::new(),
        work: None,
        output: StepOutput::default(),
    }
}

pub(crate) fn does(step: &ClaimedStep, sql: &str) -> Settlement {
    Settlement { work: Some(Work::Sql(sql.into())), ..succeeds(step) }
}

pub(crate) async fn settle(store: &PostgresStore, settlement: Settlement) -> Result<Settled> {
    store.settle_steps(vec![settlement]).await.map(|mut settled| settled.remove(0))
}

/// Where a step went, and why if not as its agent wanted.
pub(crate) fn applied(settled: &Settled) -> (StepStatus, Option<&str>) {
    match settled {
        Settled::Applied { status, refused, .. } => (*status, refused.as_deref()),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn run_status(store: &PostgresStore, run: &RunId) -> String {
    store.run(run).await.unwrap().unwrap().run.status
}
