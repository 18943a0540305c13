//! Job files over the real relay and a real store: what becomes of a message, and how often the receiver did its work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use onebell::model::RunId;
use onebell::replica::{Replica, Settings, Shutdown};
use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Actor, MessageVerdict, MessageView, Store, Trigger, Triggered};
use onebell::time::{SystemTimer, Timer};
use onebell_cli::jobfile::JobFile;
use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase, PhaseEvent, Receiver};
use onebell_cli::{channels, steps};
use onebell_testkit::{Database, fresh_database};
use tokio::sync::Notify;

use crate::world::{Version, soon};

/// A folder with a database, a receiver, and a job that tells it about three invoices.
struct Site {
    folder: tempfile::TempDir,
    receiver: Receiver,
    database: Option<Database>,
    store: Arc<dyn Store>,
    file: JobFile,
}

const JOB: &str = r#"
[jobs.tell]
[[jobs.tell.steps]]
name = "tell"
for_each = { ndjson = "invoices" }
retry = { attempts = 5, backoff = "10ms..50ms" }
[jobs.tell.steps.message]
channel = "ops"
key = "invoice/{{ row.id }}"
json = '{"id": {{ row.id }}, "cents": {{ row.cents }}}'
"#;

const INVOICES: &str = "{\"id\": 1, \"cents\": 1.50}\n{\"id\": 2, \"cents\": 2}\n{\"id\": 3, \"cents\": 3}\n";

impl Site {
    /// `channel`: further keys of the channel; `WHERE` stands for the receiver.
    async fn new(version: Version, behaviour: Behaviour, channel: &str, job: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("invoices"), INVOICES).unwrap();
        let receiver = Receiver::start(([127, 0, 0, 1], 0), Behaviour { keep_body: true, ..behaviour }).await.unwrap();
        let text = format!("[channels.ops]\nkind = \"http\"\nurl = \"WHERE/hooks\"\n{channel}\n{job}");
        let text = text.replace("WHERE", &format!("http://{}", receiver.address()));
        let file = JobFile::parse(&text, &folder.path().join("onebell.toml")).unwrap_or_else(|report| panic!("{report}"));
        let database = match version {
            Some(version) => Some(fresh_database(version).await),
            None => None,
        };
        let store = open(folder.path(), database.as_ref()).await;
        Self { folder, receiver, database, store, file }
    }

    async fn replica(&self) -> Replica {
        let store = open(self.folder.path(), self.database.as_ref()).await;
        let settings = Settings { until_idle: true, deliveries: 1, ..Settings::default() }.with_lease(Duration::from_secs(1));
        let timer: Arc<dyn Timer> = Arc::new(SystemTimer);
        let mut builder = Replica::builder(store).settings(settings);
        for (name, channel) in channels::build(&self.file).unwrap() {
            builder = builder.channel_arc(name, channel);
        }
        for (name, handler) in steps::handlers(
            &self.file,
            channels::facts(&self.file),
            &timer,
            Arc::<dyn Store>::clone(&self.store) as Arc<dyn onebell::store::BatchStore>,
        ) {
            builder = builder.handler_arc(name, handler);
        }
        for job in &self.file.jobs {
            builder = builder.job(job.clone());
        }
        builder.build().unwrap()
    }

    /// A replica until nothing is left to do.
    async fn work(&self) {
        soon(self.replica().await.run(Shutdown::new())).await.unwrap();
    }

    /// A run is asked for; the job is known once a replica that carries it has started.
    async fn trigger(&self) -> RunId {
        self.work().await;
        let actor = Actor { name: "test".into(), reason: None };
        let job = self.file.jobs[0].name.clone();
        let request = Trigger { job, key: onebell::model::Key::new("k").unwrap(), input: None, actor };
        let Triggered::Opened(run) = self.store.trigger(&request).await.unwrap() else { panic!() };
        run
    }

    async fn run(&self) -> String {
        let run = self.trigger().await;
        self.work().await;
        self.status(&run).await
    }

    async fn status(&self, run: &RunId) -> String {
        self.store.run(run).await.unwrap().unwrap().run.status
    }

    async fn message(&self, id: u32) -> MessageView {
        self.store.message(&format!("invoice/{id}")).await.unwrap().unwrap()
    }

    async fn resend(&self, id: u32) {
        let actor = Actor { name: "Hạnh".into(), reason: None };
        self.store.resolve_message(&format!("invoice/{id}"), MessageVerdict::Resend, &actor).await.unwrap();
    }

    /// How often the work was done for each invoice.
    fn done(&self) -> Vec<u64> {
        let done = self.receiver.done_by_key();
        (1..=3).map(|id| done.get(&format!("invoice/{id}")).copied().unwrap_or(0)).collect()
    }
}

async fn open(folder: &Path, database: Option<&Database>) -> Arc<dyn Store> {
    match database {
        Some(database) => Arc::new(PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap()),
        None => Arc::new(SqliteStore::builder(folder.join("onebell.db")).open_and_migrate().unwrap()),
    }
}

/// Does this once for invoice 2, at `phase`.
fn once(phase: Phase, act: Act) -> Behaviour {
    let did = AtomicBool::new(false);
    Behaviour::hooked(move |event: &PhaseEvent| {
        let it = event.phase == phase && event.key == "invoice/2" && !did.swap(true, Ordering::SeqCst);
        if it { act.clone() } else { Act::Continue }
    })
}

const ASK: &str = "ask = \"WHERE/arrived/{{ key }}\"";

async fn three_invoices_are_three_webhooks_with_keys_and_bodies_of_their_own(version: Version) {
    let site = Site::new(version, Behaviour::default(), "secret = \"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\"", JOB).await;
    assert_eq!(site.run().await, "succeeded");
    assert_eq!(site.done(), [1, 1, 1]);
    let first = site.receiver.records().into_iter().find(|record| record.key == "invoice/1").unwrap();
    assert_eq!(first.body.as_deref(), Some(&b"{\"id\": 1, \"cents\": 1.50}"[..]));
    assert!(first.header("webhook-signature").is_some_and(|signature| signature.starts_with("v1,")));
    assert_eq!(site.message(1).await.note.as_deref(), Some("200 OK: {\"ok\":true}"));
}

async fn an_answer_lost_after_the_work_is_sent_again_with_the_same_key_by_default(version: Version) {
    let site = Site::new(version, once(Phase::Done, Act::Reset), "", JOB).await;
    assert_eq!(site.run().await, "succeeded");
    assert_eq!(site.done(), [1, 2, 1], "the receiver can tell by the key");
    let message = site.message(2).await;
    assert_eq!((message.status.as_str(), message.attempt, message.resent), ("sent", 2, true));
}

async fn i9_under_hold_an_answer_lost_after_the_work_is_in_doubt_and_never_sent_again_by_itself(version: Version) {
    let job = JOB.replace("retry =", "on_in_doubt = \"hold\"\nretry =");
    let site = Site::new(version, once(Phase::Done, Act::Reset), "", &job).await;
    assert_eq!(site.run().await, "parked");
    assert_eq!(site.message(2).await.status, "in_doubt");
    site.work().await;
    assert_eq!(site.done(), [1, 1, 1]);
    site.resend(2).await;
    site.work().await;
    assert_eq!((site.done(), site.message(2).await.status.as_str()), (vec![1, 2, 1], "sent"), "a person decided");
}

async fn i9_under_hold_a_webhook_in_doubt_that_arrived_is_settled_by_asking_without_a_second_one(version: Version) {
    let job = JOB.replace("retry =", "on_in_doubt = \"hold\"\nretry =");
    // The question that follows the loss is lost too; a person says "send again", and then the receiver says that it has it.
    let lost = AtomicU32::new(0);
    let behaviour = Behaviour::hooked(move |event: &PhaseEvent| {
        let about = event.key == "invoice/2" && matches!(event.phase, Phase::Done | Phase::Asked);
        if about && lost.fetch_add(1, Ordering::SeqCst) < 2 { Act::Reset } else { Act::Continue }
    });
    let site = Site::new(version, behaviour, ASK, &job).await;
    assert_eq!(site.run().await, "parked");
    assert_eq!(site.message(2).await.status, "in_doubt");
    site.resend(2).await;
    site.work().await;
    let message = site.message(2).await;
    assert_eq!((message.status.as_str(), site.done()), ("sent", vec![1, 1, 1]));
    assert!(message.note.is_some_and(|note| note.contains("asked, has it")));
}

async fn i9_a_relay_that_dies_after_the_work_leaves_a_message_that_the_next_one_settles_by_asking(version: Version) {
    let go_on = Arc::new(Notify::new());
    let site = Site::new(
        version,
        once(Phase::Done, Act::Hold(Hold::Until(Arc::clone(&go_on)))),
        &format!("{ASK}\nwindow = \"3s\""),
        JOB,
    )
    .await;
    let run = site.trigger().await;
    let mut events = site.receiver.events();
    let dies = tokio::spawn(site.replica().await.run(Shutdown::new()));
    let held = async {
        loop {
            let event = events.recv().await.unwrap();
            if event.phase == Phase::Done && event.key == "invoice/2" {
                return;
            }
        }
    };
    soon(held).await;
    dies.abort();
    drop(dies.await);
    go_on.notify_one();
    site.work().await;
    assert_eq!((site.status(&run).await.as_str(), site.done()), ("succeeded", vec![1, 1, 1]));
}

async fn not_now_is_tried_again_and_no_is_final(version: Version) {
    let site = Site::new(version, once(Phase::Request, Act::status_with(503, "Retry-After", "1")), "", JOB).await;
    assert_eq!(site.run().await, "succeeded");
    assert_eq!((site.done(), site.message(2).await.attempt), (vec![1, 1, 1], 2));

    let site = Site::new(version, once(Phase::Request, Act::status(410)), "", JOB).await;
    assert_eq!(site.run().await, "succeeded", "a failed message fails no step unless it is told to");
    let message = site.message(2).await;
    assert_eq!((message.status.as_str(), message.note.as_deref(), site.done()), ("failed", Some("410 Gone"), vec![1, 0, 1]));
}

async fn rows_that_a_request_fetched_become_webhooks(version: Version) {
    let job = r#"
[jobs.tell]
[[jobs.tell.steps]]
name = "fetch"
http = { url = "WHERE/invoices", output = true }
retry = { attempts = 3, backoff = "10ms" }
[[jobs.tell.steps]]
name = "tell"
for_each = { output_of = "fetch" }
[jobs.tell.steps.message]
channel = "ops"
key = "invoice/{{ row.id }}"
json = "{{ row }}"
"#;
    let refused = AtomicBool::new(false);
    let behaviour = Behaviour::hooked(move |event: &PhaseEvent| match (event.phase, event.target.as_str()) {
        (Phase::Request, "/invoices") if !refused.swap(true, Ordering::SeqCst) => Act::status(502),
        (Phase::Done, "/invoices") => Act::Answer { status: 200, headers: vec![], body: INVOICES.into() },
        _ => Act::Continue,
    });
    let site = Site::new(version, behaviour, "", job).await;
    assert_eq!(site.run().await, "succeeded");
    assert_eq!(site.done(), [1, 1, 1]);
    let records = site.receiver.records();
    let fetched: Vec<_> = records.iter().filter(|record| record.target == "/invoices").collect();
    assert!(fetched.len() == 1 && fetched[0].attempt == 2, "the second try, under the next number");
    let first = records.iter().find(|record| record.key == "invoice/1").unwrap();
    assert_eq!(first.body.as_deref(), Some(&b"{\"cents\":1.50,\"id\":1}"[..]));
}

crate::everywhere!(
    three_invoices_are_three_webhooks_with_keys_and_bodies_of_their_own,
    an_answer_lost_after_the_work_is_sent_again_with_the_same_key_by_default,
    i9_under_hold_an_answer_lost_after_the_work_is_in_doubt_and_never_sent_again_by_itself,
    i9_under_hold_a_webhook_in_doubt_that_arrived_is_settled_by_asking_without_a_second_one,
    i9_a_relay_that_dies_after_the_work_leaves_a_message_that_the_next_one_settles_by_asking,
    not_now_is_tried_again_and_no_is_final,
    rows_that_a_request_fetched_become_webhooks,
);
