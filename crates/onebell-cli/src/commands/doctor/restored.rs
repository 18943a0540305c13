//! `onebell doctor --after-restore`: what may have gone on after the point that was restored waits for a person.

use onebell::model::Moment;
use onebell::replica::ZoneData;
use onebell::roles::scheduler::skip_restored;
use onebell::store::{Actor, Question, Questioned, SkipRange, Store};
use serde::Serialize;

use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Format};
use crate::database::Database;

/// Runs and messages asked about in one transaction.
const AT_ONCE: u32 = 500;

/// What this call held.
#[derive(Default, Serialize)]
struct Held {
    slots: Vec<Slots>,
    steps: u32,
    messages: u32,
}

/// Slots of one job that were recorded as skipped.
#[derive(Serialize)]
struct Slots {
    job: String,
    from: Moment,
    to: Moment,
    count: Option<u64>,
}

/// What was asked about, now or before, and nobody has decided.
#[derive(serde::Deserialize, Serialize)]
struct Undecided {
    steps: u64,
    messages: u64,
}

/// Holds it, and says what is to be decided.
pub(super) async fn after(common: &Common, database: &Database, store: &dyn Store, since: Moment, actor: &Actor) -> Answer {
    let now = store.scheduler_now().await?;
    if since > now {
        return Err(Failure::usage(format!(
            "--after-restore: {since} lies in the future, it is {now}; write the instant that the database was restored to"
        )));
    }
    // Nothing is asked about yet: only whether anybody lives.
    ask(store, since, 0, actor).await?;
    // Deliveries that people have decided end here, not in a replica that would go on with what follows them.
    while store.close_deliveries(AT_ONCE).await? > 0 {}
    let mut held = Held::default();
    let slots = |(job, SkipRange { from, to, count, .. })| Slots { job, from, to, count };
    held.slots = skip_restored(store, ZoneData::newest().zones()).await?.into_iter().map(slots).collect();
    loop {
        match ask(store, since, AT_ONCE, actor).await? {
            (0, 0) => break,
            (steps, messages) => {
                held.steps += steps;
                held.messages += messages;
            }
        }
    }
    let undecided = undecided(database, store).await?;
    let newest = store.replicas().await?.into_iter().map(|replica| replica.beat_at).max();
    if common.format == Format::Json {
        let all = serde_json::json!({ "now": now, "since": since, "newest": newest, "held": held, "undecided": undecided });
        json(&all)?;
    } else {
        held.lines(since, newest, &undecided).iter().for_each(line);
    }
    match undecided.steps + undecided.messages {
        0 => Ok(()),
        open => Err(Failure::Findings(format!("{open} to be decided"))),
    }
}

async fn undecided(database: &Database, store: &dyn Store) -> Result<Undecided, Failure> {
    let sql = match database {
        Database::Sqlite(_) => include_str!("undecided_sqlite.sql"),
        Database::Postgres(_) => include_str!("undecided_postgres.sql"),
    };
    let rows: Vec<Undecided> = serde_json::from_str(&store.query_rows(sql).await?).map_err(Failure::usage)?;
    rows.into_iter().next().ok_or_else(|| Failure::usage("the database gave no count"))
}

async fn ask(store: &dyn Store, since: Moment, limit: u32, actor: &Actor) -> Result<(u32, u32), Failure> {
    match store.question(&Question { since, limit, actor: actor.clone() }).await? {
        Questioned::Asked { steps, messages } => Ok((steps, messages)),
        Questioned::Live { label, heard_at } => Err(Failure::usage(format!(
            "a replica was heard of at {heard_at} ({label}): what it runs now would be mixed with what may have been lost; \
             stop all replicas and wait until their leases are over, then run this again"
        ))),
    }
}

impl Held {
    fn lines(&self, since: Moment, newest: Option<Moment>, undecided: &Undecided) -> Vec<String> {
        let mut lines = vec![format!("restored to    {since}")];
        if let Some(newest) = newest {
            lines.push(format!("newest in it   {newest}, when a replica was heard of last"));
        }
        for Slots { job, from, to, count } in &self.slots {
            let many = count.map_or_else(|| "slots".to_owned(), |count| format!("{count} slots"));
            lines.push(format!("skipped        {job}: {many}, {from} to {to}"));
        }
        if !self.slots.is_empty() {
            lines.push("    what did not run: onebell backfill JOB --from … --to …".to_owned());
        }
        if self.steps + self.messages > 0 {
            lines.push(format!("held now       {} steps, {} messages", self.steps, self.messages));
        }
        if undecided.steps > 0 {
            lines.push(format!("undecided      {} steps; their runs are parked", undecided.steps));
            lines
                .push("    onebell runs --status parked, then onebell resolve RUN STEP --as succeeded, or --as retry".to_owned());
        }
        if undecided.messages > 0 {
            lines.push(format!("in doubt       {} messages", undecided.messages));
            lines.push("    onebell outbox list, then onebell outbox resolve KEY --as sent, or --as resend".to_owned());
        }
        lines.push(if undecided.steps + undecided.messages > 0 {
            "decide these before a replica starts, then run this again: what follows them is asked about as well".to_owned()
        } else {
            "nothing is open that may have gone on: replicas can start".to_owned()
        });
        lines
    }
}
