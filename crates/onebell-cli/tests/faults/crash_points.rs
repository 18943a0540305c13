//! Every named fault point of the protocols: a replica is killed exactly there, another one comes, and what is then true is what
//! the table of crash points in docs/guarantees.md says.

use std::time::Duration;

use onebell::store::{MessageFilter, RunFilter, Store};
use onebell_cli::database::Database;
use onebell_cli::mailbox::{Behaviour, Mailbox};

use crate::site::{Place, Site};

/// One slot: rows in the same database, then one mail for each of them. One message at a time, so that at most one is in the
/// hands of who is killed.
fn jobs(mailbox: &Mailbox) -> String {
    // Late enough for a replica to have registered the job before.
    let at = onebell::time::host_now() + Duration::from_secs(1);
    let port = mailbox.address().port();
    format!(
        r#"
[replica]
lease = "1s"
concurrency = 1

[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = {port}
from = "billing@example.com"
tls = "none"

[jobs.bill]
at = "{at}"

[[jobs.bill.steps]]
name = "pay"
sql = "INSERT INTO paid VALUES ('x'); SELECT 'ann' AS who UNION ALL SELECT 'bob' UNION ALL SELECT 'cem'"

[[jobs.bill.steps]]
name = "remind"
for_each = {{ output_of = "pay" }}
[jobs.bill.steps.message]
channel = "mail"
key = "reminder/{{{{ row.who }}}}"
to = "{{{{ row.who }}}}@example.com"
subject = "Reminder"
text = "Please pay."
"#
    )
}

/// A replica that dies at `point`. It does, or this test fails.
async fn dies_at(site: &Site, name: &str, point: &str) {
    let mut replica = site.armed(name, &[], &format!("{point}:1:kill"));
    let gone = async || replica.ended();
    let status = site.until(&format!("a replica dies at {point}"), gone).await;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{point}\n{}", site.logs());
}

/// What is true after a death at `point`: how many mails are in doubt, and how many of three were accepted by then or later.
async fn holds(place: Place, point: &str, in_doubt: usize, accepted: u64) {
    let mailbox = Mailbox::start(([127, 0, 0, 1], 0), Behaviour::default()).await.unwrap();
    let site = Site::new(place, "").await;
    let create = Database::parse(&site.url, std::path::Path::new(".")).unwrap();
    create.execute("CREATE TABLE paid (what TEXT)").await.unwrap();
    std::fs::write(site.path("onebell.toml"), jobs(&mailbox)).unwrap();
    if point.starts_with("grant") {
        dies_at(&site, "before", "settle.before_commit").await;
    }
    dies_at(&site, "dies", point).await;
    let _heir = site.replica("heir", &[]);
    let store = site.store().await;
    let run = the_end(&site, store.as_ref(), if in_doubt == 0 { "succeeded" } else { "parked" }).await;

    let paid: serde_json::Value = serde_json::from_str(&store.query_rows("SELECT what FROM paid").await.unwrap()).unwrap();
    assert_eq!(paid.as_array().unwrap().len(), 1, "rows commit with their step, once: {point}");
    let counts = mailbox.accepted_by_recipient();
    assert!(counts.values().all(|count| *count == 1), "{point}: {counts:?}");
    assert_eq!(counts.len() as u64, accepted, "{point}: {counts:?}");
    let filter = MessageFilter { status: None, run: Some(run.clone()), limit: 10 };
    let messages = store.messages(&filter).await.unwrap();
    let of = |status: &str| messages.iter().filter(|message| message.status == status).count();
    assert_eq!((messages.len(), of("sent"), of("in_doubt")), (3, 3 - in_doubt, in_doubt), "{point}: {messages:?}");
    // A death costs a try only where work had begun.
    let detail = store.run(&onebell::model::RunId::from_text(&run)).await.unwrap().unwrap();
    let lost = detail.steps.iter().flat_map(|step| &step.attempts).filter(|attempt| attempt.outcome == "lost").count();
    let expected = usize::from(["claim.after", "settle.before", "grant"].iter().any(|begun| point.starts_with(begun)));
    assert_eq!(lost, expected, "{point}: {detail:?}");
}

/// The one run of the one slot, at its end.
async fn the_end(site: &Site, store: &dyn Store, status: &str) -> String {
    let filter = RunFilter { limit: 10, ..RunFilter::default() };
    let over = async || {
        let runs = store.runs(&filter).await.unwrap();
        assert!(runs.len() <= 1, "{runs:?}");
        runs.into_iter().find(|run| run.status == status)
    };
    let run = site.until(&format!("the run is {status}"), over).await;
    assert!(store.skips(None, 10).await.unwrap().is_empty());
    run.id
}

async fn a_death_around_a_slot_opens_it_once(place: Place) {
    holds(place, "slot.before_commit", 0, 3).await;
    holds(place, "slot.after_commit", 0, 3).await;
}

async fn a_death_around_a_claim_leaves_a_step_that_is_taken_over(place: Place) {
    holds(place, "claim.before_commit", 0, 3).await;
    holds(place, "claim.after_commit", 0, 3).await;
}

async fn a_death_around_a_settlement_leaves_all_of_it_or_nothing(place: Place) {
    holds(place, "settle.before_commit", 0, 3).await;
    holds(place, "settle.after_commit", 0, 3).await;
}

async fn a_death_around_a_grant_recovers_once(place: Place) {
    holds(place, "grant.before_commit", 0, 3).await;
    holds(place, "grant.after_commit", 0, 3).await;
}

async fn a_death_around_the_claim_of_a_message_sends_it_once(place: Place) {
    holds(place, "claim_messages.before_commit", 0, 3).await;
    holds(place, "claim_messages.after_commit", 0, 3).await;
}

async fn i9_a_death_before_the_mark_sends_the_mail_and_after_it_leaves_it_in_doubt(place: Place) {
    holds(place, "sending.before_commit", 0, 3).await;
    holds(place, "sending.after_commit", 1, 2).await;
}

async fn i9_a_death_before_the_yes_is_written_leaves_it_in_doubt_and_after_it_nothing(place: Place) {
    holds(place, "settle_messages.before_commit", 1, 3).await;
    holds(place, "settle_messages.after_commit", 0, 3).await;
}

crate::everywhere!(
    a_death_around_a_claim_leaves_a_step_that_is_taken_over,
    a_death_around_a_grant_recovers_once,
    a_death_around_a_settlement_leaves_all_of_it_or_nothing,
    a_death_around_a_slot_opens_it_once,
    a_death_around_the_claim_of_a_message_sends_it_once,
    i9_a_death_before_the_mark_sends_the_mail_and_after_it_leaves_it_in_doubt,
    i9_a_death_before_the_yes_is_written_leaves_it_in_doubt_and_after_it_nothing,
);
