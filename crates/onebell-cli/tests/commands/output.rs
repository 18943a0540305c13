//! What steps print, as it is kept and shown.

use serde_json::json;

use crate::site::{Place, Site};

async fn k13_05_bytes_that_are_no_text_are_kept_and_shown_as_they_were(place: Place) {
    let jobs = r#"
[jobs.bytes]
shell = true
command = '''printf "ok\0\377\nH\350"; printf "\0\200" >&2'''
"#;
    let site = Site::new(place, jobs).await;
    let run = site.run_once("bytes", "k");
    assert_eq!(site.the_run()["status"], "succeeded");
    let shown = site.onebell(&["logs", &run]).ended(0).stdout;
    let expected = b"== command attempt 1 succeeded exit code 0\nok\0\xff\nH\xe8\n-- stderr\n\0\x80\n";
    assert_eq!(shown, expected, "{}", String::from_utf8_lossy(&shown));
    let attempt = site.onebell(&["logs", &run, "--format", "json"]).ended(0).json()["attempts"][0].clone();
    // Programs get text where it is text, and every byte where it is not.
    assert_eq!((&attempt["stdout"], &attempt["stdout_base64"]), (&json!("ok\0\u{fffd}\nH\u{fffd}"), &json!("b2sA/wpI6A==")));
    assert_eq!(attempt["stderr_base64"], "AIA=");
    site.onebell(&["show", &run]).ended(0).says(&["exit code 0"]);
}

async fn secrets_are_masked_before_anything_is_stored(place: Place) {
    let jobs = r#"
[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = 1
from = "ob@example.com"
password = { file = "password.txt" }

[jobs.leaky]
shell = true
command = 'echo "token $TOKEN"; echo "password $(cat password.txt)" >&2; exit 65'
env = { TOKEN = { env = "API_TOKEN" }, PLAIN = "plain-value" }
"#;
    let site = Site::new(place, jobs).await;
    site.write("password.txt", "hunter2-of-the-mail\n");
    let env = [("API_TOKEN", "s3cr3t-t0ken")];
    let replica = site.replica_with("a", &["-vv"], &env);
    site.until("the job is registered", || site.onebell(&["jobs"]).out().contains("leaky"));
    let answer = site.onebell(&["trigger", "leaky", "--key", "k", "--wait", "--format", "json"]).ended(1).json();
    let run = answer["run"].as_str().unwrap();
    let logs = site.onebell(&["logs", run]).ended(0).says(&["token ", "password ", "***"]).out();
    assert!(replica.stop().success());
    let mut everything = format!("{logs}{}{}", site.onebell(&["show", run]).out(), site.read("a.log"));
    for table in ["attempts", "audit_log", "definitions", "jobs", "runs", "replicas"] {
        everything.push_str(&format!("{:?}", site.sql(&format!("SELECT * FROM {{}}{table}")).await));
    }
    assert!(everything.contains("exit code 65"));
    // Bytes come as numbers or as hex, by database.
    for secret in ["s3cr3t-t0ken", "hunter2-of-the-mail"] {
        let numbers = format!("{:?}", secret.as_bytes()).replace(['[', ']'], "");
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [secret, &numbers, &hex] {
            assert!(!everything.contains(form), "{secret} is in:\n{everything}");
        }
    }
}

async fn logs_follow_a_run_to_its_end_attempt_by_attempt(place: Place) {
    let jobs = r#"
[jobs.chatty]
[[jobs.chatty.steps]]
name = "one"
command = ["sh", "-c", "echo first; test $ONEBELL_ATTEMPT = 2"]
retry = { attempts = 2, backoff = "1ms..1ms" }
[[jobs.chatty.steps]]
name = "two"
command = ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; echo second"]
"#;
    let site = Site::new(place, jobs).await;
    site.until_idle();
    let run = site.onebell(&["trigger", "chatty", "--key", "k", "--format", "json"]).ended(0).json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    let _replica = site.replica("a");
    let followed = std::thread::scope(|threads| {
        let following = threads.spawn(|| site.onebell(&["logs", &run, "--follow"]));
        site.until("the first step is done", || {
            site.onebell(&["show", &run, "--format", "json"]).ended(0).json()["steps"][0]["status"] == "succeeded"
        });
        site.write("go", "");
        following.join().unwrap().ended(0)
    });
    let out = followed.out();
    let lines: Vec<&str> = out.lines().collect();
    let expected = [
        "== one attempt 1 retry exit code 1",
        "first",
        "== one attempt 2 succeeded exit code 0",
        "first",
        "== two attempt 1 succeeded exit code 0",
        "second",
    ];
    assert_eq!(lines, expected, "{out}");
    let only = site.onebell(&["logs", &run, "--step", "two"]).ended(0).out();
    assert_eq!(only, "== two attempt 1 succeeded exit code 0\nsecond\n");
    let unknown = ["has no step \"three\"", "one, two"];
    site.onebell(&["logs", &run, "--step", "three"]).ended(2).complains(&unknown);
    site.onebell(&["logs", "chatty-none"]).ended(2).complains(&["no run \"chatty-none\"", "onebell runs"]);
}

async fn a_talkative_step_is_kept_head_and_tail_up_to_its_cap(place: Place) {
    let jobs = r#"
[jobs.talk]
output_cap = 2000
shell = true
command = "echo BEGIN; i=0; while [ $i -lt 3000 ]; do echo middle; i=$((i+1)); done; echo END"
"#;
    let site = Site::new(place, jobs).await;
    let run = site.run_once("talk", "k");
    let out = site.onebell(&["logs", &run]).ended(0).out();
    assert!(out.contains("BEGIN\n") && out.ends_with("END\n") && out.len() < 2300, "{} bytes", out.len());
}

crate::everywhere!(
    k13_05_bytes_that_are_no_text_are_kept_and_shown_as_they_were,
    secrets_are_masked_before_anything_is_stored,
    logs_follow_a_run_to_its_end_attempt_by_attempt,
    a_talkative_step_is_kept_head_and_tail_up_to_its_cap,
);
