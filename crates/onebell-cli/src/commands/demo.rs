//! `onebell demo`: the main job on real input. First three copies that know nothing of each other, as cron on
//! three replicas; then three replicas of Onebell over one database, one of them killed at a drawn moment.

mod arranged;
mod copies;
mod scratch;
mod tally;

use std::sync::Arc;
use std::time::{Duration, Instant};

use onebell::model::Moment;
use onebell::model::message::MessageStatus;
use onebell::store::{Actor, MessageFilter, MessageVerdict, MessageView, ReplicaView, Store};
use onebell::time::{SystemTimer, Timer};

use crate::answer::{Answer, Failure, complain, json, line};
use crate::args::{Common, Demo, Format};
use crate::database::Database;
use arranged::arranged;
use copies::Copies;
use scratch::Scratch;
use tally::{Naive, Tally};

/// Copies of the service.
const REPLICAS: usize = 3;
/// The demo gives up when the job has not come to its end by then.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks at the store.
const LOOK: Duration = Duration::from_millis(100);

/// Runs both halves and prints what the mail server counted. Whatever happens, Ctrl-C too, nothing of it is left behind.
pub async fn demo(common: &Common, args: &Demo) -> Answer {
    let begun = now();
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()) ^ onebell::time::host_now().micros().unsigned_abs());
    let scratch = Scratch::new(seed, args.keep, common.database.is_some())?;
    let database = match &common.database {
        Some(_) => Database::choose(common, None)?,
        None => Database::Sqlite(scratch.path("onebell.db")),
    };
    let say = |text: &str| {
        if common.format == Format::Table {
            line(text);
        }
    };
    let shown = tokio::select! {
        shown = both_halves(&scratch, &database, seed, &say) => shown,
        _ = tokio::signal::ctrl_c() => Err(Failure::Work("interrupted".to_owned())),
    };
    let erased = scratch.erase(&database).await;
    if args.keep {
        complain(format!("kept: {}", scratch.folder().display()));
    }
    let tally = Tally { elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), ..shown? };
    erased?;
    if common.format == Format::Json {
        json(&tally)?;
    } else {
        tally.lines().iter().for_each(line);
    }
    tally.verdict()
}

async fn both_halves(scratch: &Scratch, database: &Database, seed: u64, say: &dyn Fn(&str)) -> Result<Tally, Failure> {
    let customers = scratch::CUSTOMERS;
    say("One job, 120 customers, three copies of the service.");
    say("");
    say("1. Cron on three replicas: each copy runs the job by itself.");
    let naive = naive(scratch).await?;
    let (accepted, duplicates) = (naive.accepted, naive.duplicates);
    say(&format!("   The mail server accepted {accepted} e-mails for {customers} customers: {duplicates} too many."));
    say("");
    say(&format!("2. Onebell on three replicas, one of them killed at a drawn moment (seed {seed})."));
    let tally = together(scratch, database, seed, say).await?;
    Ok(Tally { naive, ..tally })
}

/// Three copies, each with a state of its own: what they send together.
async fn naive(scratch: &Scratch) -> Result<Naive, Failure> {
    let mailbox = copies::mailbox(None).await?;
    let databases: Vec<Database> = (0..REPLICAS).map(|copy| Database::Sqlite(scratch.path(&format!("cron-{copy}.db")))).collect();
    let mut stores = Vec::new();
    for database in &databases {
        stores.push(database.open().await?);
    }
    let (files, _) = arranged(scratch, "naive", mailbox.port(), &stores).await?;
    let copies = Copies::start(&files, &databases, scratch)?;
    for store in &stores {
        finished(store.as_ref(), scratch).await?;
    }
    copies.end().await;
    let accepted = mailbox.accepted_by_recipient();
    let total: u64 = accepted.values().sum();
    Ok(Naive { accepted: total, duplicates: total - accepted.len() as u64 })
}

/// Three replicas over one database, one killed: what they sent together.
async fn together(scratch: &Scratch, database: &Database, seed: u64, say: &dyn Fn(&str)) -> Result<Tally, Failure> {
    let stores = [database.open().await?];
    let store = stores[0].as_ref();
    let killer = Arc::new(copies::Killer::drawn(seed, scratch::CUSTOMERS));
    let mailbox = copies::mailbox(Some(Arc::clone(&killer))).await?;
    let begun = store.scheduler_now().await?;
    let (files, at) = arranged(scratch, "onebell", mailbox.port(), &stores).await?;
    let copies = Copies::start(&files, &vec![database.clone(); REPLICAS], scratch)?;
    let pids: Vec<u32> = copies.pids().into_values().collect();
    killer.aim(copies.pids());
    say(&format!("   The slot is {}. All three wake up for it; one opens it.", slot_text(at)));
    let ended = to_the_end(store, scratch, &mailbox).await;
    let lost = lost(store, scratch.lease(), &pids, begun).await;
    copies.end().await;
    let Decided { doubts, confirmed } = ended?;
    let shot = killer.report();
    if let Some(shot) = &shot {
        say(&format!("   Replica {} was killed at event {} of the mail server ({}).", shot.replica, shot.event, shot.phase));
    }
    Ok(Tally {
        customers: scratch::CUSTOMERS,
        in_doubt: doubts,
        confirmed,
        replicas: REPLICAS as u64,
        killed: u64::from(shot.is_some()),
        recoveries: lost?,
        seed,
        ..Tally::of(&mailbox.accepted_by_recipient(), scratch::CUSTOMERS)
    })
}

/// What was in doubt, and how much of it had arrived.
#[derive(Default)]
struct Decided {
    doubts: u64,
    confirmed: u64,
}

/// Waits for the end of the demo's run; decides what is in doubt on the way.
async fn to_the_end(store: &dyn Store, scratch: &Scratch, mailbox: &copies::Inbox) -> Result<Decided, Failure> {
    let mut decided = Decided::default();
    loop {
        let doubts = finished(store, scratch).await?;
        if doubts.is_empty() {
            return Ok(decided);
        }
        decided.doubts += doubts.len() as u64;
        decided.confirmed += decide(store, scratch, &doubts, mailbox).await?;
    }
}

/// Waits until the demo's run succeeded, or waits for a person because of these messages in doubt.
async fn finished(store: &dyn Store, scratch: &Scratch) -> Result<Vec<MessageView>, Failure> {
    let begun = now();
    loop {
        let run = store.runs(&scratch.runs()).await.ok().and_then(|runs| runs.into_iter().next());
        if let Some(run) = run {
            match run.status.as_str() {
                "succeeded" => return Ok(Vec::new()),
                "parked" => {
                    let filter = MessageFilter { status: Some(MessageStatus::InDoubt), run: Some(run.id), limit: 1_000 };
                    let doubts = store.messages(&filter).await?;
                    if !doubts.is_empty() {
                        return Ok(doubts);
                    }
                }
                "failed" | "cancelled" => {
                    let why = run.reason.unwrap_or_default();
                    return Err(Failure::Work(format!("the demo's run {} {}: {why}\n{}", run.id, run.status, scratch.logs())));
                }
                _ => {}
            }
        }
        if begun.elapsed() > PATIENCE {
            return Err(Failure::Work(format!("the demo's run did not end within {PATIENCE:?}\n{}", scratch.logs())));
        }
        SystemTimer.sleep(LOOK).await;
    }
}

/// Asks the demo's own server about each message in doubt: it knows. One that never arrived is sent after all.
async fn decide(store: &dyn Store, scratch: &Scratch, doubts: &[MessageView], mailbox: &copies::Inbox) -> Result<u64, Failure> {
    let actor = Actor { name: "onebell demo".to_owned(), reason: Some("asked the demo's own mail server".to_owned()) };
    let mut confirmed = 0;
    for message in doubts {
        let arrived = mailbox.has(&scratch.message_id(&message.key));
        confirmed += u64::from(arrived);
        let verdict = if arrived { MessageVerdict::Sent } else { MessageVerdict::Resend };
        store.resolve_message(&message.key, verdict, &actor).await?;
    }
    Ok(confirmed)
}

/// How many of the copies were found lost. One that died with the last mail takes the others a lease to miss.
async fn lost(store: &dyn Store, lease: Duration, pids: &[u32], begun: Moment) -> Result<u64, Failure> {
    let end = now() + 5 * lease;
    loop {
        match recoveries(store, pids, begun).await? {
            0 if now() < end => SystemTimer.sleep(LOOK).await,
            found => return Ok(found),
        }
    }
}

/// In a shared database others come and go: a copy's label ends with its process id.
async fn recoveries(store: &dyn Store, pids: &[u32], begun: Moment) -> Result<u64, Failure> {
    let is_copy = |replica: &&ReplicaView| {
        let pid = replica.label.rsplit('/').next().and_then(|pid| pid.parse().ok());
        replica.beat_at >= begun && pid.is_some_and(|pid: u32| pids.contains(&pid))
    };
    let replicas = store.replicas().await?;
    Ok(replicas.iter().filter(is_copy).filter(|replica| replica.lost_at.is_some()).count() as u64)
}

#[expect(clippy::disallowed_methods, reason = "the demo says how long it took")]
fn now() -> Instant {
    Instant::now()
}

/// The slot that the demo's job files name.
fn slot_text(at: Moment) -> String {
    // Whole seconds: what people write.
    Moment::from_micros(at.micros() - at.micros().rem_euclid(1_000_000) + 1_000_000).to_string()
}
