//! A real relay over a real outbox, a real channel, and for each case a server of its own that errs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use onebell::handler::{Context, Done, Outcome};
use onebell::model::job::{JobDefinition, StepDefinition};
use onebell::model::message::{InDoubtPolicy, NewMessage};
use onebell::model::retry::RetryPolicy;
use onebell::model::{Fingerprint, Key};
use onebell::replica::{Replica, Settings, Shutdown};
use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Actor, MessageView, Store, Trigger, Triggered};
use onebell_cli::mailbox::{Behaviour, HookAction, Mailbox, Phase, PhaseEvent};
use onebell_cli::smtp::{SmtpChannel, SmtpConfig, Tls};
use onebell_testkit::{Database, fresh_database};
use serde_json::json;

use crate::hits::{met, postgres};

/// Which database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    Sqlite,
    Postgres(u32),
}

impl Base {
    fn name(self) -> String {
        match self {
            Self::Sqlite => "SQLite".to_owned(),
            Self::Postgres(version) => postgres(version),
        }
    }
}

/// What a server does when a phase is first reached, what the outbox must say at last, and how many mails arrived.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) phase: Phase,
    pub(crate) action: HookAction,
    pub(crate) status: &'static str,
    pub(crate) arrived: u64,
    /// Lines of its text.
    pub(crate) lines: usize,
}

impl Case {
    pub(crate) fn new(phase: Phase, action: HookAction, status: &'static str, arrived: u64) -> Self {
        Self { phase, action, status, arrived, lines: 1 }
    }
}

/// A case at work.
struct Server {
    case: Case,
    mailbox: Mailbox,
    hits: Arc<AtomicU64>,
}

impl Server {
    async fn start(case: Case) -> Self {
        let (hits, erred) = (Arc::<AtomicU64>::default(), AtomicBool::new(false));
        let (counted, wanted) = (Arc::clone(&hits), case.clone());
        let hook = move |event: &PhaseEvent| {
            // An error is met once; what only takes its time is met each time.
            let slow = matches!(wanted.action, HookAction::Drip(_));
            if event.phase != wanted.phase || (!slow && erred.swap(true, Ordering::SeqCst)) {
                return HookAction::Continue;
            }
            counted.fetch_add(1, Ordering::SeqCst);
            wanted.action.clone()
        };
        let behaviour = Behaviour { message_max: 64 << 20, ..Behaviour::hooked(hook) };
        let mailbox = Mailbox::start(([127, 0, 0, 1], 0), behaviour).await.unwrap();
        Self { case, mailbox, hits }
    }

    fn channel(&self) -> SmtpChannel {
        let (address, from) = (self.mailbox.address(), "Onebell <bell@example.com>".parse().unwrap());
        let mut config = SmtpConfig { tls: Tls::None, ..SmtpConfig::new(address.ip().to_string(), address.port(), from) };
        // Whoever is silent is silent for ever; a large mail has time.
        let window = if self.case.lines > 1 { 60 } else { 4 };
        (config.timeout, config.window) = (Duration::from_secs(2), Duration::from_secs(window));
        SmtpChannel::new(config).unwrap()
    }

    fn arrived(&self) -> u64 {
        self.mailbox.accepted_by_recipient().values().sum()
    }
}

fn name(index: usize) -> String {
    format!("case-{index}")
}

fn mail(index: usize, lines: usize) -> NewMessage {
    let text = format!("{}\n", "x".repeat(70)).repeat(lines);
    let payload = json!({"to": "hanh@example.com", "subject": "Reminder", "text": text}).to_string();
    NewMessage {
        key: Key::new(&name(index)).unwrap(),
        channel: name(index),
        fingerprint: Fingerprint::of_json(&payload).unwrap(),
        payload,
        on_in_doubt: InDoubtPolicy::Hold,
        retry: RetryPolicy {
            backoff_min: Duration::from_millis(1),
            backoff_max: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
    }
}

/// Sends one mail for each case and compares outbox and servers with what the cases say.
pub(crate) async fn try_all(row: &str, base: Base, cases: Vec<Case>) {
    let folder = tempfile::tempdir().unwrap();
    let mut database: Option<Database> = None;
    let store: Arc<dyn Store> = match base {
        Base::Sqlite => Arc::new(SqliteStore::builder(folder.path().join("mail.db")).open_and_migrate().unwrap()),
        Base::Postgres(version) => {
            let fresh = database.insert(fresh_database(version).await);
            Arc::new(PostgresStore::builder(&fresh.url).connect_and_migrate().await.unwrap())
        }
    };
    let mut servers = Vec::new();
    for case in cases {
        servers.push(Server::start(case).await);
    }
    let shutdown = Shutdown::new();
    let replica = tokio::spawn(replica(Arc::clone(&store), &servers).run(shutdown.clone()));
    ask(store.as_ref()).await;
    for (index, server) in servers.iter().enumerate() {
        let message = ended(store.as_ref(), &name(index)).await;
        let seen = (message.status.as_str(), server.arrived());
        assert_eq!(seen, (server.case.status, server.case.arrived), "{:?}: {message:?}", server.case);
    }
    nothing_is_sent_again(store.as_ref(), &servers).await;
    shutdown.ask();
    replica.await.unwrap().unwrap();
    let hits = servers.iter().map(|server| server.hits.load(Ordering::SeqCst));
    assert!(hits.clone().all(|hits| hits > 0), "each case was met");
    met(row, &base.name(), hits.sum());
}

fn replica(store: Arc<dyn Store>, servers: &[Server]) -> Replica {
    let mut settings = Settings::default();
    (settings.poll, settings.renewal) = (Duration::from_millis(30), Duration::from_millis(50));
    settings.supervision = Duration::from_millis(50);
    settings.deliveries = 32;
    let mut job = JobDefinition::new("remind");
    job.steps.push(StepDefinition::new("remind", "remind"));
    let lines: Vec<usize> = servers.iter().map(|server| server.case.lines).collect();
    let remind = move |_: Context| {
        let messages = lines.iter().enumerate().map(|(index, lines)| mail(index, *lines)).collect();
        std::future::ready(Outcome::Done(Done { messages, ..Done::default() }))
    };
    let mut builder = Replica::builder(store).settings(settings).job(job).handler("remind", remind);
    for (index, server) in servers.iter().enumerate() {
        builder = builder.channel(name(index), server.channel());
    }
    builder.build().unwrap()
}

async fn ask(store: &dyn Store) {
    let actor = Actor { name: "test".to_owned(), reason: None };
    let trigger = Trigger { job: "remind".to_owned(), key: Key::new("remind").unwrap(), input: None, actor };
    let opened = async || matches!(store.trigger(&trigger).await.unwrap(), Triggered::Opened(_)).then_some(());
    until("the job is registered", opened).await;
}

/// The message, when nothing will happen to it by itself any more.
async fn ended(store: &dyn Store, key: &str) -> MessageView {
    until(&format!("{key} comes to its end"), async || {
        let message = store.message(key).await.unwrap()?;
        ["sent", "failed", "in_doubt"].contains(&message.status.as_str()).then_some(message)
    })
    .await
}

/// The replica looks at everything some dozens of times more.
async fn nothing_is_sent_again(store: &dyn Store, servers: &[Server]) {
    let before: Vec<u64> = servers.iter().map(Server::arrived).collect();
    let beat = async || store.replicas().await.unwrap()[0].beat;
    let begun = beat().await;
    until("many more beats", async || (beat().await > begun + 20).then_some(())).await;
    assert_eq!(before, servers.iter().map(Server::arrived).collect::<Vec<_>>(), "nothing is sent again by itself");
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
