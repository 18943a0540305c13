//! The two examples: one whose promises hold through every storm, and one with a fault that chaos has to find.

use serde_json::{Value, json};

use crate::site::{Site, databases};

/// The keys of the contract, in its order; further ones may follow.
const KEYS: [&str; 8] = ["replicas", "kills", "pauses", "hits", "seed", "runs", "messages", "violations"];
const PHASES: [&str; 12] = [
    "after_yes",
    "any_moment",
    "claim",
    "grant",
    "message_claim",
    "message_settle",
    "sending",
    "settle_after_commit",
    "settle_before_commit",
    "slot",
    "start",
    "work",
];

/// Every phase hit once, over this database.
fn the_main_job_survives(seed: u64, more: &[&str]) -> Site {
    let site = Site::of_example("debt-reminders");
    let number = seed.to_string();
    let mut args =
        vec!["--replicas", "3", "--kills", "12", "--pauses", "1", "--runs", "4", "--seed", &number, "--format", "json"];
    args.extend(more);
    let answer = site.chaos(&args);
    let (text, told) = (&answer.stdout, &answer.stderr);
    assert_eq!(answer.code, Some(0), "{text}\n{told}");
    let report: Value = serde_json::from_str(text).unwrap();
    let place = |key: &str| text.find(&format!("\n  \"{key}\": ")).unwrap_or_else(|| panic!("{key}: {text}"));
    assert!(KEYS.is_sorted_by_key(|key| place(key)), "{text}");
    for (key, value) in [("replicas", 3), ("kills", 12), ("pauses", 1), ("seed", seed)] {
        assert_eq!(report[key], value, "{key}: {text}");
    }
    assert_eq!((&report["violations"], &report["findings"]), (&json!([]), &json!([])), "{text}");
    let hits = report["hits"].as_object().unwrap();
    assert_eq!(hits.keys().collect::<Vec<_>>(), PHASES);
    assert!(hits.values().all(|hits| hits.as_u64() == Some(1)), "{text}");
    let messages = &report["messages"];
    assert_eq!((&messages["duplicates"], &messages["missing"]), (&json!(0), &json!(0)), "{text}");
    assert!(report["runs"].as_u64().unwrap() >= 4 && messages["accepted"].as_u64().unwrap() >= 120, "{text}");
    assert_eq!(messages["in_doubt"], report["in_doubt"].as_array().unwrap().len(), "{text}");
    assert_eq!((site.leftovers().len(), site.processes().len()), (0, 0), "{told}");
    site
}

#[test]
fn sqlite_the_main_job_comes_through_every_phase_with_nothing_twice_missing_or_stuck() {
    the_main_job_survives(7, &[]);
}

async fn on_a_server(version: u32, seed: u64) {
    let url = onebell_testkit::server(version);
    let own = format!("_{seed:x}");
    the_main_job_survives(seed, &["--database", &url]);
    assert_eq!(databases(&url, &own).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_the_main_job_comes_through_every_phase_and_its_database_is_dropped() {
    on_a_server(15, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_the_main_job_comes_through_every_phase_and_its_database_is_dropped() {
    on_a_server(18, 9).await;
}

/// Enough to cut a charge off between its effect and its settlement.
const STORM: [&str; 8] = ["--real-steps", "--kills", "10", "--runs", "4", "--pauses", "0", "--seed"];

#[test]
fn a_job_that_charges_twice_is_found_and_told_what_to_do() {
    let site = Site::of_example("charge-twice");
    let report = site.json(3, &[&STORM[..], &["3"]].concat());
    let violations = report["violations"].as_array().unwrap();
    assert!(violations.iter().all(|violation| violation["invariant"] == "effects"), "{report:#}");
    let first = &violations[0];
    assert!(first["what"].as_str().unwrap().contains("charge/47"), "{report:#}");
    assert!(first["advice"].as_str().unwrap().contains("ONEBELL_IDEMPOTENCY_KEY"), "{report:#}");
    let timeline: Vec<&str> = first["timeline"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let has = |words: &str| timeline.iter().any(|line| line.contains(words));
    assert!(has("had the effect") && has("claimed by") && has("died: fault"), "{report:#}");
    assert!(!report["effects_twice"].as_array().unwrap().is_empty() && !report["repeated"].as_array().unwrap().is_empty());
}

#[test]
fn the_same_job_with_a_key_that_its_provider_refuses_is_clean() {
    let site = Site::of_example("charge-twice");
    let mended = site.read("onebell.toml").replace("[\"./charge.sh\"]", "[\"./charge-once.sh\"]");
    std::fs::write(site.path("onebell.toml"), mended).unwrap();
    let report = site.json(0, &[&STORM[..], &["3"]].concat());
    assert_eq!((&report["violations"], &report["effects_twice"]), (&json!([]), &json!([])), "{report:#}");
    assert!(!report["repeated"].as_array().unwrap().is_empty(), "it was run again, and did no harm: {report:#}");
}

/// Messages to a receiver that is asked for its word, kept at most once as mails are.
const WEBHOOKS: &str = r#"
[channels.ops]
kind = "http"
url = "https://example.com/hooks"

[[jobs.orders.steps]]
name = "collect"
command = ["./collect"]

[[jobs.orders.steps]]
name = "tell"
for_each = { output_of = "collect" }
on_in_doubt = "hold"
[jobs.orders.steps.message]
channel = "ops"
key = "order/{{ row.id }}"
json = '{"total": {{ row.total }}}'
"#;

#[test]
fn webhooks_come_through_every_phase_and_may_be_repeated_only_where_the_policy_says_so() {
    let args = ["--kills", "12", "--pauses", "0", "--runs", "4", "--seed", "2"];
    let report = Site::new(WEBHOOKS).json(0, &args);
    assert!(report["hits"].as_object().unwrap().values().all(|hits| hits.as_u64() == Some(1)), "{report:#}");
    assert_eq!((&report["messages"]["duplicates"], &report["messages"]["missing"]), (&json!(0), &json!(0)), "{report:#}");
    let report = Site::new(&WEBHOOKS.replace("on_in_doubt = \"hold\"\n", "")).json(0, &args);
    assert_eq!(report["messages"]["in_doubt"], json!(0), "{report:#}");
    assert_eq!(report["messages"]["duplicates"], report["messages"]["repeated_by_policy"], "{report:#}");
}
