//! A long day in short: three replicas, a slot every second, 84 mails a slot, and every five seconds one replica is killed and
//! started again. `ONEBELL_SOAK_SECONDS` says for how long; `scripts/prove soak` takes ten minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onebell::model::message::MessageStatus;
use onebell::store::{Acted, Actor, MessageFilter, MessageVerdict, Store};
use onebell_cli::database::Database;
use onebell_cli::mailbox::{Behaviour, Mailbox};
use rustix::process::Signal;

use crate::site::{Place, Process, Site};

const MAILS_A_SLOT: usize = 84;
const KILL_EVERY: Duration = Duration::from_secs(5);
/// So long things are kept: what is flat after it stays flat.
const KEEP: Duration = Duration::from_secs(30);

fn jobs(mailbox: &Mailbox) -> String {
    let (port, keep) = (mailbox.address().port(), KEEP.as_secs());
    format!(
        r#"
[replica]
lease = "2s"
concurrency = 16
keep_runs = "{keep}s"
keep_keys = "{keep}s"

[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = {port}
from = "billing@example.com"
tls = "none"

[jobs.bell]
every = "1s"
overlap = "allow"
missed = {{ all = 100 }}
missed_window = "{keep}s"

[[jobs.bell.steps]]
name = "pay"
sql = "INSERT INTO paid (what) VALUES ('x')"

[[jobs.bell.steps]]
name = "remind"
for_each = {{ sql = "SELECT n FROM customers ORDER BY n" }}
[jobs.bell.steps.message]
channel = "mail"
key = "{{{{ row.n }}}} {{{{ run.scheduled_for }}}}"
to = "customer-{{{{ row.n }}}}@example.com"
subject = "Reminder"
text = "Please pay."
"#
    )
}

/// What was seen while it ran.
struct Day {
    site: Site,
    store: Arc<dyn Store>,
    mailbox: Mailbox,
    replicas: Vec<Process>,
    kills: usize,
    decided: usize,
    skipped: BTreeSet<i64>,
    /// Rows of the engine's tables, and memory of the replica that lives through, by second.
    rows: Vec<(u64, u64)>,
    memory_kb: Vec<u64>,
}

impl Day {
    async fn begin(place: Place) -> Self {
        let mailbox = Mailbox::start(([127, 0, 0, 1], 0), Behaviour::default()).await.unwrap();
        let site = Site::new(place, &jobs(&mailbox)).await;
        let database = Database::parse(&site.url, std::path::Path::new(".")).unwrap();
        let values: Vec<String> = (1..=MAILS_A_SLOT).map(|n| format!("({n})")).collect();
        let tables = format!(
            "CREATE TABLE paid (what TEXT); CREATE TABLE customers (n INTEGER); INSERT INTO customers VALUES {}",
            values.join(", ")
        );
        database.execute(&tables).await.unwrap();
        let replicas = (0..3).map(|n| site.replica(&format!("r{n}"), &["-q"])).collect();
        let store = site.store().await;
        let (skipped, rows, memory_kb) = (BTreeSet::new(), Vec::new(), Vec::new());
        Self { site, store, mailbox, replicas, kills: 0, decided: 0, skipped, rows, memory_kb }
    }

    /// The replica with number 0 lives through, so that its memory can be watched.
    fn kill_one(&mut self) {
        let victim = 1 + self.kills % 2;
        self.replicas[victim].signal(Signal::KILL);
        self.kills += 1;
        self.replicas[victim] = self.site.replica(&format!("r{victim}-{}", self.kills), &["-q"]);
    }

    /// What a person would do: asks the receiver about each message in doubt.
    async fn decide(&mut self) {
        let filter = MessageFilter { status: Some(MessageStatus::InDoubt), run: None, limit: 1_000 };
        let doubts = self.store.messages(&filter).await.unwrap_or_default();
        if doubts.is_empty() {
            return;
        }
        let arrived = self.arrived();
        let actor = Actor { name: "soak".to_owned(), reason: Some("asked the receiver".to_owned()) };
        for doubt in doubts {
            let verdict = if arrived.contains_key(&doubt.key) { MessageVerdict::Sent } else { MessageVerdict::Resend };
            if self.store.resolve_message(&doubt.key, verdict, &actor).await.is_ok_and(|acted| acted == Acted::Done) {
                self.decided += 1;
            }
        }
    }

    fn arrived(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for mail in self.mailbox.received() {
            *counts.entry(mail.key.unwrap()).or_default() += 1;
        }
        counts
    }

    async fn look(&mut self, second: u64) {
        for skip in self.store.skips(None, 1_000).await.unwrap_or_default() {
            let (from, to) = (skip.from.micros() / 1_000_000, skip.to.micros() / 1_000_000);
            self.skipped.extend(from..=to);
        }
        let status = self.store.status().await.unwrap();
        let of = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        self.rows.push((second, of(&status.runs) + of(&status.steps) + of(&status.outbox)));
        let stat = std::fs::read_to_string(format!("/proc/{}/status", self.replicas[0].id())).unwrap_or_default();
        let resident = stat.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        self.memory_kb.extend(resident.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok()));
    }

    async fn live(&mut self, span: Duration) {
        let begun = Instant::now();
        let mut next = KILL_EVERY;
        while begun.elapsed() < span {
            tokio::time::sleep(next.saturating_sub(begun.elapsed())).await;
            next += KILL_EVERY;
            self.kill_one();
            self.decide().await;
            self.look(begun.elapsed().as_secs()).await;
        }
    }

    /// No more slots; everything that began ends.
    async fn end(&mut self) {
        assert!(self.site.command(&["pause", "bell"]).status().unwrap().success());
        let begun = Instant::now();
        // A run that is parked for a message in doubt is idle too: it goes on when that is decided.
        while self.store.status().await.unwrap().runs["parked"] > 0 || !self.store.is_idle().await.unwrap() {
            assert!(begun.elapsed() < Duration::from_secs(120), "it does not come to rest:\n{}", self.site.logs());
            self.decide().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let status = self.store.status().await.unwrap();
        let over = ["succeeded", "failed", "cancelled"];
        assert!(status.runs.iter().all(|(word, count)| *count == 0 || over.contains(&word.as_str())), "{:?}", status.runs);
    }

    /// Nobody twice, nobody missing, every slot accounted for, rows in the same database once for each slot.
    async fn judge(&self, span: Duration) -> (usize, usize) {
        let arrived = self.arrived();
        let twice: Vec<_> = arrived.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        let mut by_slot: BTreeMap<&str, usize> = BTreeMap::new();
        for key in arrived.keys() {
            *by_slot.entry(key.split_once(' ').unwrap().1).or_default() += 1;
        }
        let short: Vec<_> = by_slot.iter().filter(|(_, count)| **count != MAILS_A_SLOT).collect();
        assert!(short.is_empty(), "{short:?}");
        let slots: BTreeSet<i64> =
            by_slot.keys().map(|slot| slot.parse::<onebell::model::Moment>().unwrap().micros() / 1_000_000).collect();
        let (first, last) = (*slots.first().unwrap(), *slots.last().unwrap());
        let lost: Vec<i64> = (first..=last).filter(|slot| !slots.contains(slot) && !self.skipped.contains(slot)).collect();
        assert!(lost.is_empty(), "slots without a run and without a skip: {lost:?}");
        let paid = self.store.query_rows("SELECT count(*) AS n FROM paid").await.unwrap();
        assert_eq!(paid, format!("[{{\"n\":{}}}]", slots.len()), "rows commit with their step, once");
        assert!(slots.len() as u64 * 60 >= span.as_secs() * 50, "{} slots in {span:?}", slots.len());
        (slots.len(), arrived.len())
    }

    /// Memory and rows after the first third, when as much is pruned as comes, against the end.
    fn is_flat(&self) {
        let third = self.rows.len() / 3;
        let most = |values: &mut dyn Iterator<Item = u64>| values.max().unwrap();
        let (early, late) = (
            most(&mut self.rows[third..2 * third].iter().map(|(_, rows)| *rows)),
            most(&mut self.rows[2 * third..].iter().map(|(_, rows)| *rows)),
        );
        assert!(late <= early + early / 2, "rows grow: {:?}", self.rows);
        let memory = &self.memory_kb;
        let (early, late) = (most(&mut memory[third..2 * third].iter().copied()), most(&mut memory[2 * third..].iter().copied()));
        assert!(late <= early + early / 4 + 8_192, "memory grows: {memory:?} kB");
    }
}

async fn kills_all_day_lose_nothing_repeat_nothing_and_leave_nothing_behind(place: Place) {
    let seconds = std::env::var("ONEBELL_SOAK_SECONDS").map_or(15, |text| text.parse().unwrap());
    let span = Duration::from_secs(seconds);
    let mut day = Day::begin(place).await;
    day.live(span).await;
    day.end().await;
    let (slots, mails) = day.judge(span).await;
    if span > KEEP * 6 {
        day.is_flat();
    }
    let rows = |n: usize| day.rows.get(n).map_or(0, |(_, rows)| *rows);
    println!(
        "{place:?}: {seconds} s, {} kills, {slots} slots, {mails} mails each once, {} in doubt and decided, {} slots skipped; rows {} → {}, memory {} → {} kB",
        day.kills,
        day.decided,
        day.skipped.len(),
        rows(day.rows.len() / 3),
        rows(day.rows.len() - 1),
        day.memory_kb[day.memory_kb.len() / 3],
        day.memory_kb.last().unwrap(),
    );
}

crate::everywhere!(kills_all_day_lose_nothing_repeat_nothing_and_leave_nothing_behind);
