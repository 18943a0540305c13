//! What people decide: each act changes what it says, is in the audit log with its actor and reason, and is refused with a reason
//! when the state does not allow it.

use serde_json::json;

use crate::site::{Place, Site};

const BELL: &str = r#"
[jobs.bell]
every = "1s"
missed = { all = 1000 }
command = ["true"]
"#;

const JOBS: &str = r#"
[jobs.work]
shell = true
command = "touch started; while [ ! -e go ]; do sleep 0.02; done"
retry = { attempts = 1 }

[jobs.broken]
command = ["sh", "-c", "echo tried >> tried; test -e mended || exit 65"]

[jobs.shaky]
[[jobs.shaky.steps]]
name = "shake"
command = ["sh", "-c", "echo shaken >> shaken; test -e mended || exit 1"]
retry = { attempts = 2, backoff = "1ms..1ms" }
[[jobs.shaky.steps]]
name = "rest"
command = ["sh", "-c", "echo rested >> rested"]
"#;

const BY: [&str; 4] = ["--actor", "Hạnh", "--reason", "ticket 17"];

fn by<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(BY).collect()
}

/// The last act of the log.
async fn last_act(site: &Site) -> Vec<String> {
    site.audit().await.pop().expect("an act")
}

fn ids(run: &str, step: &str) -> String {
    format!("{run}.{step}")
}

async fn a_paused_job_opens_nothing_and_pausing_is_not_missing(place: Place) {
    let site = Site::new(place, BELL).await;
    let _replica = site.replica("a");
    let runs = || site.onebell(&["runs", "--job", "bell", "--limit", "1000", "--format", "json"]).ended(0).json()["runs"].clone();
    site.until("the bell has rung", || runs().as_array().is_some_and(|runs| !runs.is_empty()));
    site.onebell(&by(&["pause", "bell"])).ended(0).says(&["job bell paused"]);
    assert_eq!(last_act(&site).await, ["pause", "bell", "Hạnh", "ticket 17"]);
    site.onebell(&["pause", "bell"]).ended(0).says(&["job bell paused"]);
    site.onebell(&["jobs"]).ended(0).says(&["paused"]);
    let before = runs().as_array().unwrap().len();
    // Two slots pass: the clock alone says so, nothing else happens.
    let now = || onebell::time::host_now();
    let later = now() + std::time::Duration::from_millis(2100);
    site.until("two slots have passed", || now() > later);
    assert_eq!(runs().as_array().unwrap().len(), before);
    site.onebell(&by(&["resume", "bell"])).ended(0).says(&["job bell resumed"]);
    assert_eq!(last_act(&site).await, ["resume", "bell", "Hạnh", "ticket 17"]);
    site.onebell(&["resume", "bell"]).ended(0);
    let skips = site.onebell(&["skips", "--job", "bell", "--format", "json"]).ended(0).json()["skips"].clone();
    let paused: Vec<_> = skips.as_array().unwrap().iter().filter(|skip| skip["reason"] == "paused").collect();
    assert_eq!(paused.len(), 1, "one range: {skips:#}");
    assert!(paused[0]["count"].as_u64().unwrap() >= 2, "{skips:#}");
    site.until("it rings again", || runs().as_array().unwrap().len() > before);
    let (from, to) = (paused[0]["from"].as_str().unwrap(), paused[0]["to"].as_str().unwrap());
    let within = |at: &str| from <= at && at <= to;
    assert!(!runs().as_array().unwrap().iter().any(|run| within(run["scheduled_for"].as_str().unwrap())), "{skips:#}");
    site.onebell(&["pause", "bel"]).ended(2).complains(&["no job \"bel\"; did you mean \"bell\"?"]);
    site.onebell(&["resume", "bel"]).ended(2).complains(&["did you mean \"bell\"?"]);
    assert_eq!(site.audit().await.len(), 2, "what changed nothing is no act");
}

async fn a_cancelled_run_ends_its_work_and_one_that_is_over_is_refused(place: Place) {
    let site = Site::new(place, JOBS).await;
    let _replica = site.replica("a");
    site.until("the jobs are registered", || site.onebell(&["jobs"]).out().contains("work"));
    let run =
        site.onebell(&["trigger", "work", "--key", "k", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    site.until("it works", || site.path("started").exists());
    site.onebell(&by(&["cancel", &run])).ended(0).says(&["is being cancelled"]);
    let shown = site.until_status(&run, "cancelled");
    assert_eq!(shown["run"]["reason"], "cancelled by Hạnh: ticket 17");
    assert_eq!(shown["steps"][0]["status"], "cancelled");
    assert_eq!(site.audit().await, [["trigger", &run, &user(), ""], ["cancel", &run, "Hạnh", "ticket 17"]]);
    for refused in [["cancel", &run], ["retry", &run]] {
        site.onebell(&refused).ended(2).complains(&[&run, "the run is cancelled", "nothing was changed"]);
    }
    site.onebell(&["resolve", &run, "command", "--as", "succeeded"]).ended(2).complains(&["cancelled", "nothing was changed"]);
    site.onebell(&["cancel", "work-none"]).ended(2).complains(&["no run work-none", "nothing was changed"]);
    site.onebell(&["trigger", "work", "--key", "k", "--wait"]).ended(1).complains(&["the run was cancelled"]);
    assert_eq!(site.audit().await.len(), 2);
}

/// Who acts when nobody says so.
fn user() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned())
}

async fn a_failed_run_is_tried_again_only_when_a_person_says_so(place: Place) {
    let site = Site::new(place, JOBS).await;
    let run = site.run_once("broken", "k");
    assert_eq!((site.the_run()["status"].as_str(), site.lines("tried").len()), (Some("failed"), 1));
    site.until_idle();
    assert_eq!(site.lines("tried").len(), 1);
    site.onebell(&["resolve", &run, "command", "--as", "succeeded"]).ended(2).complains(&["the run is failed"]);
    site.write("mended", "");
    site.onebell(&by(&["retry", &run])).ended(0).says(&["got a new budget"]);
    assert_eq!(last_act(&site).await, ["retry", &run, "Hạnh", "ticket 17"]);
    site.until_idle();
    assert_eq!((site.the_run()["status"].as_str(), site.lines("tried").len()), (Some("succeeded"), 2));
    site.onebell(&["retry", &run]).ended(2).complains(&["the run is succeeded", "nothing was changed"]);
    site.onebell(&["trigger", "broken", "--key", "k", "--wait"]).ended(0).says(&["opened before", "succeeded"]);
}

async fn exhausted_work_is_parked_not_lost_and_goes_on_with_a_new_budget(place: Place) {
    let site = Site::new(place, JOBS).await;
    let run = site.run_once("shaky", "k");
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert_eq!(shown["run"]["status"], "parked");
    let (shake, rest) = (&shown["steps"][0], &shown["steps"][1]);
    assert_eq!((&shake["status"], &shake["tries"], &rest["status"]), (&json!("exhausted"), &json!(2), &json!("waiting")));
    site.onebell(&["show", &run]).ended(0).says(&["it waits for a person", &format!("onebell retry {run}")]);
    site.onebell(&["status"]).ended(0).says(&["1 parked", "onebell runs --status parked"]);
    site.until_idle();
    assert_eq!(site.lines("shaken").len(), 2, "nobody goes on by himself");
    site.onebell(&by(&["retry", &run])).ended(0);
    site.until_idle();
    assert_eq!((site.the_run()["status"].as_str(), site.lines("shaken").len()), (Some("parked"), 4), "another budget of two");
    site.write("mended", "");
    site.onebell(&by(&["resolve", &run, "shake", "--as", "retry"])).ended(0).says(&["step shake", "resolved as retry"]);
    assert_eq!(last_act(&site).await, ["resolve-step", &ids(&run, "shake"), "Hạnh", "ticket 17"]);
    site.until_idle();
    assert_eq!(site.the_run()["status"], "succeeded");
    assert_eq!((site.lines("shaken").len(), site.lines("rested").len()), (5, 1));
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    let attempts: Vec<u64> =
        shown["steps"][0]["attempts"].as_array().unwrap().iter().map(|attempt| attempt["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5], "the fence only grows, over every new budget");
}

async fn a_person_decides_a_parked_step_and_the_run_goes_on_or_ends(place: Place) {
    let site = Site::new(place, JOBS).await;
    let (good, bad) = (site.run_once("shaky", "good"), site.run_once("shaky", "bad"));
    site.onebell(&["resolve", &good, "rest", "--as", "succeeded"])
        .ended(2)
        .complains(&["the step is waiting", "nothing was changed"]);
    site.onebell(&["resolve", &good, "shak", "--as", "succeeded"]).ended(2).complains(&["no step shak of run"]);
    site.onebell(&["resolve", &good, "shake", "--as", "done"]).ended(2).complains(&["succeeded, failed, retry"]);
    site.onebell(&by(&["resolve", &good, "shake", "--as", "succeeded"])).ended(0);
    site.onebell(&by(&["resolve", &bad, "shake", "--as", "failed"])).ended(0);
    site.until_idle();
    let shown = |run: &str| site.onebell(&["show", run, "--format", "json"]).ended(0).json();
    assert_eq!((&shown(&good)["run"]["status"], &shown(&bad)["run"]["status"]), (&json!("succeeded"), &json!("failed")));
    assert_eq!(site.lines("rested").len(), 1, "only what the good one waited for");
    assert!(shown(&bad)["steps"].to_string().contains("ticket 17"), "the reason is in the history: {:#}", shown(&bad));
    let decided: Vec<_> = site.audit().await.into_iter().filter(|act| act[0] == "resolve-step").collect();
    let act = |run: &str| ["resolve-step".to_owned(), ids(run, "shake"), "Hạnh".to_owned(), "ticket 17".to_owned()];
    assert_eq!(decided, [act(&good), act(&bad)]);
}

crate::everywhere!(
    a_paused_job_opens_nothing_and_pausing_is_not_missing,
    a_cancelled_run_ends_its_work_and_one_that_is_over_is_refused,
    a_failed_run_is_tried_again_only_when_a_person_says_so,
    exhausted_work_is_parked_not_lost_and_goes_on_with_a_new_budget,
    a_person_decides_a_parked_step_and_the_run_goes_on_or_ends,
);
