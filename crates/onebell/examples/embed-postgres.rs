//! The service of `embed-sqlite`, over PostgreSQL: `cargo run --example embed-postgres -- postgres://USER@HOST/NAME`
//! (or with `ONEBELL_DATABASE` set). It works under names of its own and removes what it wrote.
//!
//! What differs from SQLite: how the store is opened, and how the rows are written inside its transaction.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onebell::handler::{Channel, Context, Done, Gate, Outcome, Outgoing};
use onebell::model::job::{JobDefinition, StepDefinition};
use onebell::model::message::{Delivery, InDoubtPolicy, NewMessage};
use onebell::model::{Effect, JobId, Key, RunId};
use onebell::replica::{Replica, Settings, Shutdown};
use onebell::store::postgres::tokio_postgres::types::Type;
use onebell::store::postgres::{self, PostgresStore};
use onebell::store::{Actor, AgentStore, OperatorStore, ReadStore, Store, Trigger, Triggered};
use onebell::time::{SystemTimer, Timer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const NAME: &str = "embed-postgres";
const TABLE: &str =
    "CREATE TABLE embed_postgres (customer text, period text, cents bigint NOT NULL, PRIMARY KEY (customer, period))";
const INSERT: &str = "INSERT INTO embed_postgres (customer, period, cents) VALUES ($1, $2, $3)";
const CUSTOMERS: [(&str, i64); 3] = [("ada", 1250), ("bela", 990), ("cyd", 4300)];

/// What a run is asked with.
#[derive(serde::Deserialize)]
struct Month {
    period: String,
}

/// The handler. It writes nothing itself: it says what is to be committed.
async fn bill(context: Context) -> Outcome {
    match invoices(&context) {
        Ok(done) => Outcome::Done(done),
        // A mistake in the input: another try would fail the same way.
        Err(error) => Outcome::failed(format!("this month cannot be billed: {error}")),
    }
}

fn invoices(context: &Context) -> Result<Done, Failure> {
    let input = context.step().input.as_deref().ok_or("the run has no input")?;
    let Month { period } = serde_json::from_str(input)?;
    let mut done = Done::default();
    for (customer, cents) in CUSTOMERS {
        let key = Key::new(&format!("{customer}/{period}"))?;
        let payload = serde_json::json!({ "to": customer, "period": period, "cents": cents }).to_string();
        done.effects.push(Effect::new(Key::new(NAME)?, key.clone(), Some(cents), &payload)?);
        let mut letter = NewMessage::new(Key::new(&format!("{NAME}/{key}"))?, NAME, payload)?;
        letter.on_in_doubt = InDoubtPolicy::Resend;
        done.messages.push(letter);
    }
    // Runs inside the transaction that completes the step, and again if that transaction is repeated. Statements with their
    // types named need no prepared statement, so that this works behind a pooler too.
    done.work = Some(postgres::work(move |transaction| {
        let period = period.clone();
        Box::pin(async move {
            for (customer, cents) in CUSTOMERS {
                let values = [(&customer as _, Type::TEXT), (&period as _, Type::TEXT), (&cents as _, Type::INT8)];
                transaction.execute_typed(INSERT, &values).await?;
            }
            Ok(())
        })
    }));
    Ok(done)
}

/// A receiver that knows every letter by its key, and throws a second one of the same key away.
#[derive(Clone, Default)]
struct Letters(Arc<Mutex<BTreeMap<String, String>>>);

#[async_trait::async_trait]
impl Channel for Letters {
    fn window(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        // A real channel connects and logs in here. Then the gate, which commits `sending`; the content only after it.
        let Some(permit) = gate.open().await else { return Delivery::GivenBack };
        if !permit.holds() {
            return Delivery::GivenBack;
        }
        let mut letters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        letters.entry(message.key.clone()).or_insert_with(|| message.payload.clone());
        Delivery::Accepted { receipt: "in the box".to_owned() }
    }
}

/// One copy of the service, with connections of its own.
async fn copy(url: &str, number: u32, letters: &Letters) -> Result<Replica, Failure> {
    let store: Arc<dyn Store> = Arc::new(PostgresStore::builder(url).connections(4).connect().await?);
    let settings = Settings { label: format!("copy {number}"), ..Settings::default() };
    let mut job = JobDefinition::new(NAME);
    job.steps.push(StepDefinition::new("bill", "bill"));
    let replica = Replica::builder(store).settings(settings).job(job).handler("bill", bill).channel(NAME, letters.clone());
    Ok(replica.build()?)
}

/// Asks for the month's run. A job is known once a replica that carries it has started.
async fn request(store: &PostgresStore, period: &str) -> Result<(RunId, bool), Failure> {
    let request = Trigger {
        job: NAME.to_owned(),
        key: Key::new(&format!("{NAME}/{period}"))?,
        input: Some(serde_json::json!({ "period": period }).to_string()),
        actor: Actor { name: "the service".to_owned(), reason: None },
    };
    loop {
        match store.trigger(&request).await? {
            Triggered::Opened(run) => return Ok((run, true)),
            Triggered::Already(run) => return Ok((run, false)),
            Triggered::Conflict(conflict) => return Err(conflict.into()),
            Triggered::NoSuchJob => SystemTimer.sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn remove(store: &PostgresStore) -> Result<(), Failure> {
    store.erase_job(&JobId::of_name(NAME)).await?;
    store.execute("DROP TABLE IF EXISTS embed_postgres").await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let given = std::env::args().nth(1).or_else(|| std::env::var("ONEBELL_DATABASE").ok());
    let url = given.ok_or("name a database: cargo run --example embed-postgres -- postgres://USER@HOST/NAME")?;
    let store = PostgresStore::builder(&url).connect_and_migrate().await?;
    remove(&store).await?;
    store.execute(TABLE).await?;

    let (letters, shutdown) = (Letters::default(), Shutdown::new());
    let mut copies = tokio::task::JoinSet::new();
    for number in 1..=2 {
        copies.spawn(copy(&url, number, &letters).await?.run(shutdown.clone()));
    }

    let (run, opened) = request(&store, "2026-11").await?;
    let (same, opened_again) = request(&store, "2026-11").await?;
    println!("run {run}: opened {opened}; asked again: opened {opened_again}, the same run {}", run == same);
    while store.run(&run).await?.is_none_or(|detail| detail.run.finished_at.is_none()) {
        SystemTimer.sleep(Duration::from_millis(50)).await;
    }

    // A service calls this when it is told to stop. What is in hand ends first.
    shutdown.ask();
    while let Some(ended) = copies.join_next().await {
        ended??;
    }

    let rows = store.query_rows("SELECT customer, cents FROM embed_postgres ORDER BY customer").await?;
    let (effects, cents) = store.effects_total(NAME).await?;
    let letters = letters.0.lock().unwrap_or_else(PoisonError::into_inner).len();
    println!("rows {rows}");
    println!("{effects} effects over {cents} cents, {letters} letters");
    remove(&store).await?;
    assert!(
        rows.matches("customer").count() == 3 && effects == 3 && cents == 6540 && letters == 3,
        "the month was not billed once"
    );
    Ok(())
}
