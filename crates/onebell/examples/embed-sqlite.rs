//! A service that carries a job of its own, over one SQLite file: `cargo run --example embed-sqlite`.
//!
//! The handler bills every customer of a period. Its rows, its effects and its messages commit together with the step's
//! completion. Two copies of the service run side by side, and the month is asked for twice: it is billed once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use onebell::handler::{Channel, Context, Done, Gate, Outcome, Outgoing};
use onebell::model::job::{Dst, JobDefinition, ScheduleDefinition, StepDefinition, When};
use onebell::model::message::{Delivery, InDoubtPolicy, NewMessage};
use onebell::model::{Effect, Key, RunId};
use onebell::replica::{Replica, Settings, Shutdown};
use onebell::store::sqlite::{self, SqliteStore, rusqlite};
use onebell::store::{Actor, OperatorStore, ReadStore, StepOutput, Store, Trigger, Triggered};
use onebell::time::{SystemTimer, Timer};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS invoices (customer TEXT, period TEXT, cents INTEGER, PRIMARY KEY (customer, period))";
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
        done.effects.push(Effect::new(Key::new("invoices")?, key.clone(), Some(cents), &payload)?);
        let mut letter = NewMessage::new(Key::new(&format!("invoice/{key}"))?, "letters", payload)?;
        letter.on_in_doubt = InDoubtPolicy::Resend;
        done.messages.push(letter);
    }
    done.output = StepOutput { summary: format!("{} invoices", CUSTOMERS.len()), ..StepOutput::default() };
    // Runs inside the transaction that completes the step, and again if that transaction is repeated.
    done.work = Some(sqlite::work(move |connection| {
        let mut insert = connection.prepare("INSERT INTO invoices (customer, period, cents) VALUES (?1, ?2, ?3)")?;
        CUSTOMERS.iter().try_for_each(|(customer, cents)| insert.execute((customer, &period, cents)).map(drop))
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

/// The job: every first of the month at 02:00, and on request.
fn job() -> JobDefinition {
    let mut job = JobDefinition::new("billing");
    job.schedules.push(ScheduleDefinition {
        when: When::Cron { expression: "0 2 1 * *".to_owned(), seconds: false },
        time_zone: "Europe/Berlin".to_owned(),
        dst: Dst::Vixie,
    });
    job.steps.push(StepDefinition::new("bill", "bill"));
    job
}

/// One copy of the service: a store of its own on the shared file.
fn copy(file: &Path, number: u32, letters: &Letters) -> Result<Replica, Failure> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::builder(file).open_and_migrate()?);
    let settings = Settings { label: format!("copy {number}"), ..Settings::default() };
    let replica = Replica::builder(store).settings(settings).job(job()).handler("bill", bill).channel("letters", letters.clone());
    Ok(replica.build()?)
}

/// Asks for the month's run. A job is known once a replica that carries it has started.
async fn request(store: &SqliteStore, period: &str) -> Result<(RunId, bool), Failure> {
    let request = Trigger {
        job: "billing".to_owned(),
        key: Key::new(&format!("billing/{period}"))?,
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

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("service.db");
    let store = SqliteStore::builder(&file).open_and_migrate()?;
    store.execute(TABLE).await?;

    let (letters, shutdown) = (Letters::default(), Shutdown::new());
    let mut copies = tokio::task::JoinSet::new();
    for number in 1..=2 {
        copies.spawn(copy(&file, number, &letters)?.run(shutdown.clone()));
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

    let rows: i64 = rusqlite::Connection::open(&file)?.query_row("SELECT count(*) FROM invoices", [], |row| row.get(0))?;
    let (effects, cents) = store.effects_total("invoices").await?;
    let letters = letters.0.lock().unwrap_or_else(PoisonError::into_inner).len();
    println!("{rows} rows, {effects} effects over {cents} cents, {letters} letters");
    assert!(rows == 3 && effects == 3 && cents == 6540 && letters == 3, "the month was not billed once");
    Ok(())
}
