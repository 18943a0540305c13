//! `outbox`: what is in doubt is shown first and decided by a person; every verdict that the state does not allow is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onebell_cli::mailbox::{Behaviour, HookAction, Phase};
use serde_json::json;

use crate::site::{Mail, Place, Site};

const REMIND: &str = r#"
[jobs.remind]
[[jobs.remind.steps]]
name = "remind"
for_each = { csv = "customers.csv" }
[jobs.remind.steps.message]
channel = "mail"
key = "reminder/{{ row.id }}"
to = "{{ row.email }}"
subject = "Reminder {{ row.id }}"
text = "You owe."
"#;

const CUSTOMERS: &str = "id,email\n1,a@example.com\n2,b@example.com\n3,c@example.com\n";

/// A server that keeps what it gets and hangs up without a word while `silent`.
async fn silent_server() -> (Mail, Arc<AtomicBool>) {
    let silent = Arc::new(AtomicBool::new(true));
    let told = Arc::clone(&silent);
    let hook = move |event: &onebell_cli::mailbox::PhaseEvent| match event.phase {
        Phase::Accepted if told.load(Ordering::SeqCst) => HookAction::Reset,
        _ => HookAction::Continue,
    };
    (Mail::behaving(Behaviour::hooked(hook)).await, silent)
}

async fn i9_mails_in_doubt_are_shown_first_and_each_is_decided_by_a_person(place: Place) {
    let (mail, silent) = silent_server().await;
    let site = Site::new(place, &format!("{}{REMIND}", mail.channel())).await;
    site.write("customers.csv", CUSTOMERS);
    let run = site.run_once("remind", "k");
    assert_eq!(mail.got().len(), 3, "all arrived, and nobody here can know");
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert_eq!((&shown["run"]["status"], &shown["steps"][0]["status"]), (&json!("parked"), &json!("held")));
    assert_eq!(site.status()["outbox"]["in_doubt"], 3);
    site.onebell(&["status"]).ended(0).says(&["3 in_doubt", "messages are in doubt", "onebell outbox list"]);
    site.until_idle();
    assert_eq!(mail.mailbox.received().len(), 3, "nothing is sent again by itself");
    let told = ["in_doubt", "at most once", "nobody can know whether it arrived", "onebell outbox resolve reminder/1 --as sent"];
    site.onebell(&["outbox", "show", "reminder/1"]).ended(0).says(&told);

    silent.store(false, Ordering::SeqCst);
    let resolve = |key: &str, verdict: &str| {
        site.onebell(&["outbox", "resolve", key, "--as", verdict, "--actor", "Hạnh", "--reason", "asked the receiver"])
    };
    resolve("reminder/1", "sent").ended(0).says(&["message reminder/1 resolved as sent"]);
    resolve("reminder/2", "drop").ended(0);
    let first = site.onebell(&["outbox", "list", "--format", "json"]).ended(0).json()["messages"][0].clone();
    assert_eq!((&first["key"], &first["status"]), (&json!("reminder/3"), &json!("in_doubt")), "what waits stands first");
    let in_doubt = site.onebell(&["outbox", "list", "--status", "in_doubt", "--run", &run, "--format", "json"]).json();
    assert_eq!(in_doubt["messages"].as_array().unwrap().len(), 1);
    resolve("reminder/3", "resend").ended(0);
    site.until_idle();
    assert_eq!(site.the_run()["status"], "succeeded");
    assert_eq!(mail.subjects(), ["Reminder 1", "Reminder 2", "Reminder 3", "Reminder 3"], "the one that a person sent again");
    site.onebell(&["outbox", "show", "reminder/3"]).ended(0).says(&["sent", "at least once"]);

    resolve("reminder/1", "sent").ended(2).complains(&[
        "the message is sent",
        "in doubt can be called sent",
        "nothing was changed",
    ]);
    resolve("reminder/2", "sent").ended(2).complains(&["the message is dropped"]);
    resolve("reminder/3", "drop").ended(2).complains(&["the message is sent"]);
    resolve("reminder/4", "sent").ended(2).complains(&["no message reminder/4"]);
    resolve("reminder/1", "maybe").ended(2).complains(&["sent, resend, drop"]);
    site.onebell(&["outbox", "show", "reminder/4"]).ended(2).complains(&["no message \"reminder/4\"", "onebell outbox list"]);
    let acts: Vec<_> = site.audit().await.into_iter().filter(|act| act[0] == "resolve-message").collect();
    let act = |key: &str| ["resolve-message", key, "Hạnh", "asked the receiver"].map(str::to_owned);
    assert_eq!(acts, [act("reminder/1"), act("reminder/2"), act("reminder/3")]);
}

async fn a_mail_that_was_refused_for_good_is_told_and_can_be_sent_again_or_dropped(place: Place) {
    let mending = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&mending);
    let hook = move |event: &onebell_cli::mailbox::PhaseEvent| match event.phase {
        Phase::Rcpt if event.detail != "b@example.com" && !mended.load(Ordering::SeqCst) => {
            HookAction::Reply("550 5.1.1 nobody of that name".to_owned())
        }
        _ => HookAction::Continue,
    };
    let mail = Mail::behaving(Behaviour::hooked(hook)).await;
    let site = Site::new(place, &format!("{}{REMIND}", mail.channel())).await;
    site.write("customers.csv", CUSTOMERS);
    site.run_once("remind", "k");
    assert_eq!(site.the_run()["status"], "succeeded", "on_message_failed = \"continue\" is the default");
    assert_eq!(mail.got(), [("b@example.com".to_owned(), 1)]);
    site.onebell(&["outbox", "list"]).ended(0).says(&["failed", "nobody of that name"]);
    mending.store(true, Ordering::SeqCst);
    site.onebell(&["outbox", "resolve", "reminder/1", "--as", "resend"]).ended(0);
    site.onebell(&["outbox", "resolve", "reminder/3", "--as", "drop"]).ended(0);
    site.until_idle();
    assert_eq!(mail.subjects(), ["Reminder 1", "Reminder 2"]);
    let status = site.status();
    assert_eq!((&status["outbox"]["sent"], &status["outbox"]["dropped"]), (&json!(2), &json!(1)));
}

crate::everywhere!(
    i9_mails_in_doubt_are_shown_first_and_each_is_decided_by_a_person,
    a_mail_that_was_refused_for_good_is_told_and_can_be_sent_again_or_dropped,
);
