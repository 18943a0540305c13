//! From `init` to the answers of every reading command.

use serde_json::{Value, json};

use crate::site::{Mail, Place, Site};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("an object: {value:#}")).keys().map(String::as_str).collect()
}

/// The starter job, with a mail server that is there.
async fn started(place: Place) -> (Site, Mail) {
    let mail = Mail::new().await;
    let site = Site::new(place, "").await;
    site.onebell(&["init"]).ended(0).says(&["onebell.toml", "pull.sql", "compute.sh", "reminder.txt", "next: onebell check"]);
    let file = site.read("onebell.toml");
    assert!(file.contains("port = 2525") && file.starts_with("#:schema onebell.schema.json\n"));
    assert_eq!(site.read("onebell.schema.json").as_bytes(), site.onebell(&["schema"]).ended(0).stdout);
    site.write("onebell.toml", file.replace("port = 2525", &format!("port = {}", mail.port())));
    (site, mail)
}

async fn from_init_to_one_mail_per_customer_in_the_commands_of_the_readme(place: Place) {
    let (site, mail) = started(place).await;
    site.onebell(&["check"]).ended(0).says(&["exactly once", "at least once", "at most once", "onebell.toml is good: 1 job\n"]);
    site.onebell(&["jobs"]).ended(0).says(&["no job is registered yet"]);
    site.until_idle();
    site.onebell(&["jobs"]).ended(0).says(&["debt-reminders", "Monthly reminders"]);
    let (first, second) = (site.replica("first"), site.replica("second"));
    let trigger = ["trigger", "debt-reminders", "--key", "2026-11", "--wait", "--format", "json"];
    let answer = site.onebell(&trigger).ended(0).json();
    assert_eq!((&answer["already"], &answer["status"]), (&json!(false), &json!("succeeded")));
    assert_eq!(mail.got().len(), 120);
    assert!(mail.got().iter().all(|(_, mails)| *mails == 1), "{:?}", mail.got());
    let again = site.onebell(&trigger).ended(0).json();
    assert_eq!(again, json!({"run": answer["run"], "already": true, "status": "succeeded"}));
    // Another request is another run; its messages have the keys of the first one's.
    site.onebell(&["trigger", "debt-reminders", "--key", "2026-11 again", "--wait"]).ended(0).says(&["succeeded"]);
    assert_eq!(mail.got().iter().map(|(_, mails)| mails).sum::<u64>(), 120);
    assert_eq!(site.status()["outbox"]["sent"], 120);
    // Counted by whoever saw them, and written down with the next beat.
    site.until("the prevented duplicates are told", || site.status()["duplicates_prevented"]["messages"] == 120);
    assert!(first.stop().success() && second.stop().success());
}

async fn every_reading_command_answers_people_in_tables_and_programs_in_json_alone_on_stdout(place: Place) {
    let (site, mail) = started(place).await;
    site.until_idle();
    let run = site.run_once("debt-reminders", "2026-11");
    assert_eq!(mail.got().len(), 120);
    the_counts_have_the_contracts_shape(&site);
    let answer = |args: &[&str]| {
        let mut with_format = args.to_vec();
        with_format.extend(["--format", "json"]);
        // Log lines may come too, but never to stdout: all of it is one value.
        site.onebell(&with_format).ended(0).json()
    };
    let jobs = answer(&["jobs"])["jobs"].clone();
    assert_eq!((&jobs[0]["name"], &jobs[0]["last_status"]), (&json!("debt-reminders"), &json!("succeeded")));
    assert_eq!(jobs[0]["last_run"], run.as_str());
    let runs = answer(&["runs"])["runs"].clone();
    assert_eq!((&runs[0]["id"], &runs[0]["origin"], &runs[0]["job"]), (&json!(run), &json!("request"), &json!("debt-reminders")));
    assert_eq!(answer(&["runs", "--status", "failed"]), json!({"runs": []}));
    assert_eq!(answer(&["runs", "--job", "other"]), json!({"runs": []}));
    assert_eq!(answer(&["runs", "--since", "1h"])["runs"].as_array().unwrap().len(), 1);
    assert_eq!(answer(&["runs", "--since", "2999-01-01T00:00:00Z"]), json!({"runs": []}));
    let shown = answer(&["show", &run]);
    assert_eq!(keys(&shown), ["input", "messages", "run", "steps", "timeline"]);
    let names: Vec<&Value> = shown["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
    assert_eq!(names, ["pull", "compute", "remind"]);
    assert_eq!(shown["messages"]["sent"], 120);
    assert_eq!(shown["steps"][1]["attempts"][0]["outcome"], "succeeded");
    let logs = answer(&["logs", &run, "--step", "compute"]);
    assert_eq!(logs["run"], run.as_str());
    assert_eq!(logs["attempts"][0]["stderr"], "120 of 120 customers owe\n");
    let replicas = answer(&["replicas"])["replicas"].clone();
    assert_eq!(replicas.as_array().unwrap().len(), 2, "two were started one after the other: {replicas:#}");
    assert!(replicas.as_array().unwrap().iter().all(|replica| replica["left_at"].is_string() && replica["lost_at"].is_null()));
    assert_eq!(answer(&["recoveries"]), json!({"recoveries": []}));
    assert_eq!(answer(&["skips"]), json!({"skips": []}));
    let messages = answer(&["outbox", "list", "--limit", "1000"])["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 120);
    let key = messages[0]["key"].as_str().unwrap();
    assert_eq!(answer(&["outbox", "show", key])["status"], "sent");
    people_read_the_same(&site, &run, key);
}

fn the_counts_have_the_contracts_shape(site: &Site) {
    let status = site.status();
    assert_eq!(keys(&status), ["duplicates_prevented", "effects", "outbox", "replicas", "runs", "steps", "took", "waiting"]);
    assert_eq!(keys(&status["duplicates_prevented"]), ["effects", "messages", "slots", "superseded"]);
    let statuses = ["cancelled", "cancelling", "failed", "failing", "parked", "queued", "running", "succeeded", "undoing"];
    assert_eq!(keys(&status["runs"]), statuses);
    assert_eq!(keys(&status["outbox"]), ["claimed", "dropped", "failed", "in_doubt", "ready", "sending", "sent"]);
    let of_steps = ["cancelled", "delivering", "exhausted", "failed", "held", "pending", "running", "succeeded", "waiting"];
    assert_eq!(keys(&status["steps"]), of_steps);
    assert_eq!((&status["runs"]["succeeded"], &status["steps"]["succeeded"]), (&json!(1), &json!(3)));
    assert_eq!((&status["outbox"]["sent"], &status["outbox"]["in_doubt"]), (&json!(120), &json!(0)));
    assert_eq!((&status["effects"], &status["replicas"]), (&json!(0), &json!(0)), "every replica said goodbye");
}

fn people_read_the_same(site: &Site, run: &str, key: &str) {
    let says = |args: &[&str], words: &[&str]| drop(site.onebell(args).ended(0).says(words));
    says(&["status"], &["runs      1 succeeded", "outbox    120 sent", "replicas  0 live", "duplicates prevented  0 slots"]);
    says(&["jobs"], &["JOB", "NEXT SLOT", "debt-reminders", "succeeded"]);
    says(&["runs"], &["RUN", "ORIGIN", run, "request"]);
    says(&["runs", "--status", "parked"], &["no such run"]);
    says(&["show", run], &["job debt-reminders", "STEP", "pull", "compute", "remind", "messages  120 sent"]);
    says(&["logs", run], &["== compute attempt 1 succeeded exit code 0", "120 of 120 customers owe"]);
    says(&["replicas"], &["REPLICA", "LAST BEAT", "left "]);
    says(&["recoveries"], &["nothing has had to be recovered"]);
    says(&["skips"], &["no slot was skipped"]);
    says(&["outbox", "list"], &["KEY", "STATUS", "reminder/", "sent"]);
    says(&["outbox", "show", key], &[key, "channel mail", "at most once", "payload {"]);
}

crate::everywhere!(
    from_init_to_one_mail_per_customer_in_the_commands_of_the_readme,
    every_reading_command_answers_people_in_tables_and_programs_in_json_alone_on_stdout,
);

#[test]
fn init_never_overwrites_and_writes_nothing_beside_what_is_there() {
    for name in ["onebell.toml", "pull.sql", "compute.sh", "reminder.txt", "customers.csv"] {
        let site = Site::plain("");
        site.write(name, "mine");
        let there = site.path(name);
        site.onebell(&["init"]).ended(2).complains(&[name, "exists already", "onebell init DIR"]);
        let left: Vec<_> = std::fs::read_dir(site.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!((left, site.read(name).as_str()), (vec![there], "mine"));
    }
    let site = Site::plain("");
    site.onebell(&["init", "jobs/nightly"]).ended(0).says(&["written to jobs/nightly"]);
    site.onebell(&["check", "-f", "jobs/nightly/onebell.toml"]).ended(0);
    site.onebell(&["init", "jobs/nightly"]).ended(2);
}

#[test]
fn the_database_is_the_flags_then_the_variables_then_the_files_then_one_beside_the_file() {
    let site = Site::plain("[jobs.j]\ncommand = [\"true\"]\n");
    std::fs::create_dir(site.path("sub")).unwrap();
    site.write("sub/onebell.toml", "[jobs.j]\ncommand = [\"true\"]\n");
    site.write("named.toml", "database = \"sqlite:of_the_file.db\"\n[jobs.j]\ncommand = [\"true\"]\n");
    let of_variable = |args: &[&str]| {
        let mut command = site.command(args);
        command.env("ONEBELL_DATABASE", "sqlite:of_the_variable.db");
        site.answer(command).ended(0)
    };
    let begun = |name: &str| std::fs::remove_file(site.path(name)).is_ok();
    of_variable(&["status", "-f", "named.toml", "--database", "sqlite:of_the_flag.db"]);
    assert!(begun("of_the_flag.db") && !begun("of_the_variable.db"));
    of_variable(&["status", "-f", "named.toml"]);
    assert!(begun("of_the_variable.db") && !begun("of_the_file.db"));
    site.onebell(&["status", "-f", "named.toml"]).ended(0);
    assert!(begun("of_the_file.db") && !begun("onebell.db"));
    site.onebell(&["status", "-f", "sub/onebell.toml"]).ended(0);
    assert!(begun("sub/onebell.db") && !begun("onebell.db"));
}

#[test]
fn a_look_without_a_job_file_makes_no_new_database_and_finds_one_that_is_there() {
    let site = Site::plain("");
    site.onebell(&["status"]).ended(2).complains(&["onebell.toml", "-f FILE", "onebell init"]);
    site.onebell(&["-f", "typo.toml", "runs"]).ended(2).complains(&["typo.toml", "No such file"]);
    assert_eq!(std::fs::read_dir(site.folder()).unwrap().count(), 0);
    site.write("onebell.toml", "[jobs.j]\ncommand = [\"true\"]\n");
    site.until_idle();
    std::fs::remove_file(site.path("onebell.toml")).unwrap();
    site.onebell(&["jobs"]).ended(0).says(&["j "]);
}
