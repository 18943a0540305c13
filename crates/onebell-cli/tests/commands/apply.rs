//! Files of events, applied as people apply them: again, after a death, two at once.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::site::{Place, Process, Site};

super::everywhere!(
    a_batch_can_be_cancelled_and_resumed_from_its_checkpoint,
    a_file_that_is_applied_again_adds_nothing_and_says_so,
    a_reader_that_was_stopped_for_too_long_is_taken_over_from_and_writes_nothing_more,
    a_step_applies_files_and_the_rows_of_a_step_before_it_once,
    an_atomic_file_is_there_whole_or_not_at_all_whoever_dies,
    an_atomic_file_with_a_fault_is_withheld_told_corrected_and_applied,
    an_empty_inbox_is_nothing_to_do_where_that_is_said,
    an_interrupted_reading_stops_after_a_whole_chunk_and_goes_on_from_there,
    k11_13_a_death_before_or_after_any_commit_leaves_the_same_ledger,
    records_that_the_users_table_refuses_are_corrected_and_applied,
    the_seeds_table_of_faults_holds,
);

const EVENTS: &str = "event_id,amount_cents\nE1,100\nE2,250\n";
const PAYMENTS: &[&str] = &["--scope", "payments", "--id", "event_id", "--amount", "amount_cents"];

impl Site {
    fn apply(&self, file: &str, more: &[&str]) -> crate::site::Answer {
        let mut args = vec!["apply", file];
        args.extend(PAYMENTS);
        args.extend(more);
        args.extend(["--format", "json"]);
        self.onebell(&args)
    }

    /// Begins to apply, with a fault armed.
    fn applying(&self, file: &str, more: &[&str], fault: &str) -> Process {
        let mut args = vec!["apply", file];
        args.extend(PAYMENTS);
        args.extend(more);
        let mut command = self.command(&args);
        command.env("ONEBELL_FAULT", fault).stdout(Stdio::null()).stderr(Stdio::null());
        Process::of(command.spawn().unwrap())
    }

    fn dies(&self, file: &str, more: &[&str], fault: &str) {
        let mut process = self.applying(file, more, fault);
        let mut ended = None;
        self.until(&format!("it dies at {fault}"), || {
            ended = process.ended();
            ended.is_some()
        });
        assert_eq!(ended.unwrap().signal(), Some(9), "{fault}");
    }

    fn paid(&self) -> (Value, Value) {
        let mut answer = self.onebell(&["effects", "--scope", "payments", "--format", "json"]).ended(0).json();
        (answer["count"].take(), answer["total"].take())
    }

    fn newest(&self) -> Value {
        self.onebell(&["batches", "--format", "json"]).ended(0).json()["batches"][0].clone()
    }
}

async fn a_file_that_is_applied_again_adds_nothing_and_says_so(place: Place) {
    let site = Site::new(place, "").await;
    site.write("events.csv", EVENTS);
    let mut first = site.apply("events.csv", &[]).ended(0).json();
    assert!(first["batch"].take().is_string());
    let position = json!({"byte": 36, "line": 4});
    let answer = |applied, already| json!({"batch": null, "applied": applied, "already": already, "conflicts": 0, "rejected": 0, "failed": 0, "position": position});
    assert_eq!(first, answer(2, 0));
    let mut second = site.apply("events.csv", &[]).ended(0).json();
    second["batch"].take();
    assert_eq!(second, answer(0, 2));
    let effects = site.onebell(&["effects", "--scope", "payments", "--format", "json"]).ended(0).json();
    assert_eq!(effects, json!({"scope": "payments", "count": 2, "total": "350", "failed": 0}));
    // Another payload under a known identity, in the same file and beside what is new.
    site.write("more.ndjson", "{\"event_id\":\"E1\",\"amount_cents\":100}\n{\"event_id\":\"E3\",\"amount_cents\":-5}\n{\"event_id\":\"E4\",\"amount_cents\":1.5}\n");
    let third = site.apply("more.ndjson", &["--fail-if", "amount_cents < 0"]).ended(3).json();
    assert_eq!([&third["applied"], &third["conflicts"], &third["failed"], &third["rejected"]], [0, 1, 1, 1]);
    let batch = third["batch"].as_str().unwrap();
    let shown = site.onebell(&["batches", "show", batch]).ended(0);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        ["conflict", "E1", "failed", "amount_cents < 0", "rejected", "1.5"].iter().all(|word| shown.contains(word)),
        "{shown}"
    );
    assert_eq!(site.paid(), (json!(2), json!("350")));
}

async fn k11_13_a_death_before_or_after_any_commit_leaves_the_same_ledger(place: Place) {
    let site = Site::new(place, "").await;
    let rows: String = (1..=5).map(|n| format!("E{n},{n}00\n")).collect();
    site.write("events.csv", format!("event_id,amount_cents\n{rows}E2,200\n"));
    let mut round = 0;
    for point in ["chunk.before_commit", "chunk.after_commit"] {
        // Six rows in chunks of one.
        for nth in 1..=6 {
            round += 1;
            let scope = format!("s{round}");
            let one_by_one = ["--chunk", "1", "--timeout", "100ms", "--scope", &scope];
            let args = |more: &[&str]| {
                let mut args: Vec<String> =
                    ["apply", "events.csv", "--id", "event_id", "--amount", "amount_cents"].map(str::to_owned).into();
                args.extend(one_by_one.iter().chain(more).map(|arg| (*arg).to_owned()));
                args
            };
            let mut command = site.command(&args(&[]));
            command.env("ONEBELL_FAULT", format!("{point}:{nth}:kill")).stdout(Stdio::null()).stderr(Stdio::null());
            let ended = command.status().unwrap();
            assert_eq!(ended.signal(), Some(9), "{point}:{nth}");
            let answer = site.answer(site.command(&args(&["--format", "json"]))).ended(0).json();
            // After the last commit there is nothing to go on with: the file is read again.
            let expected = if (point, nth) == ("chunk.after_commit", 6) { (0, 6) } else { (5, 1) };
            assert_eq!(
                (&answer["applied"], &answer["already"]),
                (&json!(expected.0), &json!(expected.1)),
                "{point}:{nth}: {answer}"
            );
            let effects = site.onebell(&["effects", "--scope", &scope, "--format", "json"]).ended(0).json();
            assert_eq!((&effects["count"], &effects["total"]), (&json!(5), &json!("1500")), "{point}:{nth}");
        }
    }
}

/// The seed's lines: killed before the write, after the write, after the commit; a negative amount fails for good; another amount is
/// refused; two at once.
async fn the_seeds_table_of_faults_holds(place: Place) {
    let site = Site::new(place, "").await;
    site.write("one.csv", "event_id,amount_cents\n1,100\n2,-1\n");
    let rule = ["--fail-if", "amount_cents < 0", "--timeout", "100ms"];
    site.dies("one.csv", &rule, "chunk.before_commit:1:kill");
    assert_eq!(site.paid(), (json!(0), json!("0")), "pending|0");
    site.dies("one.csv", &rule, "chunk.after_commit:1:kill");
    assert_eq!(site.paid(), (json!(1), json!("100")));
    let replay = site.apply("one.csv", &rule).ended(3).json();
    assert_eq!(
        (&replay["already"], &replay["failed"], &replay["applied"]),
        (&json!(1), &json!(1), &json!(0)),
        "replay=already, permanent_failed"
    );
    site.write("other.csv", "event_id,amount_cents\n1,999\n");
    let conflict = site.apply("other.csv", &[]).ended(3).json();
    assert_eq!((&conflict["conflicts"], &conflict["applied"]), (&json!(1), &json!(0)), "payload_conflict");
    assert_eq!(site.paid(), (json!(1), json!("100")));
    site.write("a.csv", "event_id,amount_cents\n7,100\n");
    site.write("b.csv", "event_id,amount_cents\n7,100\n");
    let mut both = [site.applying("a.csv", &[], ""), site.applying("b.csv", &[], "")];
    site.until("both are through", || both.iter_mut().all(|process| process.ended().is_some()));
    assert_eq!(site.paid(), (json!(2), json!("200")), "race: applied/already");
}

async fn an_interrupted_reading_stops_after_a_whole_chunk_and_goes_on_from_there(place: Place) {
    let site = Site::new(place, "").await;
    site.write("events.csv", "event_id,amount_cents\nE1,1\nE2,2\nE3,3\nE4,4\n");
    let mut process = site.applying("events.csv", &["--chunk", "1"], "chunk.after_commit:2:stop");
    site.until("it stands after its second chunk", || process.state() == Some('T'));
    process.signal(Signal::INT);
    process.signal(Signal::CONT);
    let mut ended = None;
    site.until("it ends", || {
        ended = process.ended();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(1));
    let batch = site.newest();
    assert!(batch["status"] == "pending" && batch["applied"].as_u64() >= Some(2), "{batch}");
    let rest = site.apply("events.csv", &["--chunk", "1"]).ended(0).json();
    assert_eq!(
        (&rest["batch"], &rest["applied"], &rest["already"]),
        (&batch["id"], &json!(4), &json!(0)),
        "nothing was read twice"
    );
    assert_eq!(site.paid(), (json!(4), json!("10")));
}

async fn a_reader_that_was_stopped_for_too_long_is_taken_over_from_and_writes_nothing_more(place: Place) {
    let site = Site::new(place, "").await;
    site.write("events.csv", "event_id,amount_cents\nE1,1\nE2,2\nE3,3\nE4,4\n");
    let slow = ["--chunk", "1", "--timeout", "300ms"];
    let mut first = site.applying("events.csv", &slow, "chunk.after_commit:2:stop");
    site.until("it stands after its second chunk", || first.state() == Some('T'));
    let waited = site.apply("events.csv", &slow).ended(0).json();
    assert_eq!(waited["applied"].as_u64().unwrap() + waited["already"].as_u64().unwrap(), 4);
    first.signal(Signal::CONT);
    let mut ended = None;
    site.until("it ends", || {
        ended = first.ended();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(1), "the batch was somebody else's");
    assert_eq!(site.paid(), (json!(4), json!("10")));
}

async fn records_that_the_users_table_refuses_are_corrected_and_applied(place: Place) {
    let site = Site::new(place, "").await;
    site.onebell(&["migrate"]).ended(0);
    site.sql("CREATE TABLE payments (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents < 1000))").await;
    site.write("pay.sql", "INSERT INTO payments (id, cents) SELECT key, amount FROM chunk;\n");
    site.write("events.csv", "event_id,amount_cents,note\nE1,100,\"a, b\"\nE2,5000,\"c, \"\"d\"\"\"\nE3,x,\nE4,40,e\n");
    let answer = site.apply("events.csv", &["--sql", "pay.sql", "--rejects", "rejects.csv"]).ended(3).json();
    assert_eq!((&answer["applied"], &answer["rejected"]), (&json!(2), &json!(2)));
    assert_eq!(site.lines("rejects.csv"), ["event_id,amount_cents,note", "E2,5000,\"c, \"\"d\"\"\"", "E3,x,"]);
    // One too many, although the file ends within the first chunk: it was read, and it is told.
    let limited = ["--sql", "pay.sql", "--scope", "limited", "--max-rejected", "0"];
    let mut typed = vec!["apply", "events.csv", "--id", "event_id", "--amount", "amount_cents"];
    typed.extend(limited);
    site.onebell(&typed).ended(1).complains(&["records were rejected", "more than the 0"]);
    site.write("rejects.csv", site.read("rejects.csv").replace("5000", "500").replace(",x,", ",30,"));
    site.apply("rejects.csv", &["--sql", "pay.sql"]).ended(0);
    assert_eq!(
        site.sql("SELECT id, cents FROM payments ORDER BY id").await.concat(),
        ["E1", "100", "E2", "500", "E3", "30", "E4", "40"]
    );
    assert_eq!(site.paid(), (json!(4), json!("670")));
    // Statements that are wrong as such: told, and nothing is there.
    site.write("pay.sql", "INSERT INTO paiments SELECT key FROM chunk");
    site.write("new.csv", "event_id,amount_cents\nE9,1\n");
    site.apply("new.csv", &["--sql", "pay.sql"]).ended(2).complains(&["paiments"]);
    assert_eq!(site.paid(), (json!(4), json!("670")));
}

async fn a_batch_can_be_cancelled_and_resumed_from_its_checkpoint(place: Place) {
    let site = Site::new(place, "").await;
    site.write("events.csv", "event_id,amount_cents\nE1,1\nE2,2\nE3,3\n");
    site.dies("events.csv", &["--chunk", "1", "--timeout", "100ms"], "chunk.after_commit:1:kill");
    let batch = site.newest()["id"].as_str().unwrap().to_owned();
    site.onebell(&["batches", "cancel", &batch, "--actor", "ann", "--reason", "wrong file"]).ended(0).says(&["cancelled"]);
    site.onebell(&["batches", "cancel", &batch]).ended(2).complains(&["ended already"]);
    site.onebell(&["batches", "cancel", "nothing"]).ended(2).complains(&["no batch", "onebell batches"]);
    let resumed = site.onebell(&["batches", "resume", &batch, "--format", "json"]).ended(0).json();
    assert_eq!((&resumed["batch"], &resumed["applied"]), (&json!(batch), &json!(3)));
    site.onebell(&["batches", "resume", &batch]).ended(2).complains(&["is done"]);
    assert_eq!(site.audit().await[0], ["cancel-batch", &batch, "ann", "wrong file"]);
    assert_eq!(site.paid(), (json!(3), json!("6")));
}

async fn an_atomic_file_is_there_whole_or_not_at_all_whoever_dies(place: Place) {
    let site = Site::new(place, "").await;
    site.onebell(&["migrate"]).ended(0);
    site.sql("CREATE TABLE payments (id text, cents bigint NOT NULL)").await;
    site.write("pay.sql", "INSERT INTO payments (id, cents) SELECT key, amount FROM chunk");
    site.write("events.csv", "event_id,amount_cents\nE1,100\nE2,200\nE3,300\nE2,200\n");
    let mut round = 0;
    for (point, passes) in [("chunk.before_commit", [1, 4]), ("chunk.after_commit", [2, 4])] {
        for nth in passes {
            round += 1;
            let scope = format!("s{round}");
            let more = ["--atomic", "--chunk", "1", "--timeout", "2s", "--sql", "pay.sql", "--scope", &scope];
            let mut args = vec!["apply", "events.csv", "--id", "event_id", "--amount", "amount_cents", "--format", "json"];
            args.extend(more);
            let mut command = site.command(&args);
            command.env("ONEBELL_FAULT", format!("{point}:{nth}:kill")).stdout(Stdio::null()).stderr(Stdio::null());
            assert_eq!(command.status().unwrap().signal(), Some(9), "{point}:{nth}");
            let count = || {
                let effects = site.onebell(&["effects", "--scope", &scope, "--format", "json"]).ended(0).json();
                effects["count"].as_u64().unwrap()
            };
            let whole = (point, nth) == ("chunk.after_commit", 4);
            assert_eq!(count(), if whole { 3 } else { 0 }, "{point}:{nth}");
            let answer = site.onebell(&args).ended(0).json();
            let expected = if whole { (0, 4) } else { (3, 1) };
            assert_eq!((&answer["applied"], &answer["already"]), (&json!(expected.0), &json!(expected.1)), "{point}:{nth}");
            assert_eq!(count(), 3, "{point}:{nth}");
            let sum = format!("SELECT count(*) || '/' || sum(cents) FROM payments WHERE {round} > 0");
            let all = format!("{}/{}", round * 3, round * 600);
            assert_eq!(site.sql(&sum).await.concat(), [all], "{point}:{nth}: the user's own table, too");
        }
    }
}

async fn an_atomic_file_with_a_fault_is_withheld_told_corrected_and_applied(place: Place) {
    let jobs = "[[jobs.load.steps]]\nname = \"a\"\n\
        apply = { file = \"step.csv\", scope = \"payments\", id = \"event_id\", amount = \"amount_cents\", atomic = true }\n";
    let site = Site::new(place, jobs).await;
    site.write("before.csv", "event_id,amount_cents\nE2,250\n");
    site.apply("before.csv", &[]).ended(0);
    site.write("events.csv", "event_id,amount_cents\nE1,100\nE2,999\nE3,x\nE4,4\n");
    let atomic = ["--atomic", "--chunk", "2", "--rejects", "rejects.csv"];
    let answer = site.apply("events.csv", &atomic).ended(3);
    answer.complains(&["nothing of the source was applied", "rejected: 1"]);
    assert_eq!(site.lines("rejects.csv"), ["event_id,amount_cents", "E3,x"]);
    assert_eq!((site.paid(), &site.newest()["status"]), ((json!(1), json!("250")), &json!("cancelled")));
    // One fault is mended: the other one is met.
    site.write("events.csv", site.read("events.csv").replace(",x", ",3"));
    site.apply("events.csv", &atomic).ended(3).complains(&["nothing of the source was applied", "conflicts: 1"]);
    let batch = site.newest()["id"].as_str().unwrap().to_owned();
    site.onebell(&["batches", "show", &batch]).ended(0).says(&["conflict", "E2", "999", "250"]);
    site.onebell(&["batches", "resume", &batch]).ended(2).complains(&["anew"]);
    assert_eq!(site.paid(), (json!(1), json!("250")));
    // What was begun as one promise is not gone on with as the other.
    site.write("events.csv", site.read("events.csv").replace("999", "250"));
    site.dies("events.csv", &["--atomic", "--chunk", "2", "--timeout", "100ms"], "chunk.after_commit:1:kill");
    site.apply("events.csv", &["--chunk", "2"]).ended(2).complains(&["atomic", "--restart"]);
    let last = site.apply("events.csv", &atomic).ended(0).json();
    assert_eq!((&last["applied"], &last["already"]), (&json!(3), &json!(1)));
    assert_eq!(site.paid(), (json!(4), json!("357")));
    // The same in a step: its run fails, and says why.
    site.write("step.csv", "event_id,amount_cents\nE5,5\nE1,7\n");
    let run = site.run_once("load", "k");
    site.onebell(&["show", &run]).ended(0).says(&["failed", "nothing of the source was applied"]);
    assert_eq!(site.paid(), (json!(4), json!("357")));
}

/// The seed's own use: several sources, collected periodically.
const COLLECT: &str = r#"
[jobs.collect]

[[jobs.collect.steps]]
name = "fetch"
after = []
command = ["sh", "-c", "test -e up || exit 75; cat fetched > \"$ONEBELL_OUTPUT\""]
retry = { attempts = 5, backoff = "20ms..50ms" }

[[jobs.collect.steps]]
name = "fetched"
apply = { output_of = "fetch", scope = "payments", id = "event_id", amount = "amount_cents" }

[[jobs.collect.steps]]
name = "files"
after = []
command = ["sh", "-c", "touch up"]

[[jobs.collect.steps]]
name = "dropped"
after = ["files"]
apply = { file = "in/*.csv", scope = "payments", id = "event_id", amount = "amount_cents", chunk = 1 }
"#;

async fn a_step_applies_files_and_the_rows_of_a_step_before_it_once(place: Place) {
    let site = Site::new(place, COLLECT).await;
    std::fs::create_dir(site.path("in")).unwrap();
    site.write("in/a.csv", "event_id,amount_cents\nE1,100\nE2,250\n");
    site.write("in/b.csv", "event_id,amount_cents\nE2,250\nE3,75\n");
    site.write("fetched", "{\"event_id\":\"E1\",\"amount_cents\":\"100\"}\n{\"event_id\":\"E4\",\"amount_cents\":4}\n");
    site.onebell(&["check"]).ended(0).says(&["exactly once"]);
    let run = site.run_once("collect", "monday");
    assert_eq!(site.paid(), (json!(4), json!("429")));
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert_eq!(shown["run"]["status"], "succeeded");
    let summary = |name: &str| {
        let steps = shown["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == name).unwrap();
        step["attempts"].as_array().unwrap().last().unwrap()["summary"].clone()
    };
    let told =
        |applied: u32, already: u32| json!(format!("{applied} applied, {already} already, 0 conflicts, 0 rejected, 0 failed"));
    // Both sources have E1: which of the two steps, one beside the other, comes first with it is open.
    let both = (summary("dropped"), summary("fetched"));
    assert!(both == (told(3, 1), told(1, 1)) || both == (told(2, 2), told(2, 0)), "{both:?}");
    site.run_once("collect", "tuesday");
    assert_eq!(site.paid(), (json!(4), json!("429")), "collected again, nothing was added");
    site.onebell(&["effects", "--scope", "payments"]).ended(0).says(&["4 effects, total 429"]);
}

async fn an_empty_inbox_is_nothing_to_do_where_that_is_said(place: Place) {
    let jobs = "[jobs.inbox]\nretry = { attempts = 1 }\n[jobs.inbox.apply]\nfile = \"in/*.csv\"\nscope = \"payments\"\nid = \"event_id\"\nallow_no_file = true\n\
        [jobs.daily]\nretry = { attempts = 1 }\n[jobs.daily.apply]\nfile = \"day/*.csv\"\nscope = \"payments\"\nid = \"event_id\"\n";
    let site = Site::new(place, jobs).await;
    let empty = site.run_once("inbox", "one");
    let waits = site.run_once("daily", "of the day");
    let status = |run: &str| site.onebell(&["show", run, "--format", "json"]).ended(0).json()["run"]["status"].clone();
    assert_eq!((status(&empty), status(&waits)), (json!("succeeded"), json!("parked")));
    std::fs::create_dir(site.path("in")).unwrap();
    site.write("in/a.csv", EVENTS);
    site.run_once("inbox", "two");
    assert!(site.onebell(&["effects", "--scope", "payments", "--format", "json"]).ended(0).json()["count"].as_u64() > Some(0));
}

#[test]
fn what_is_typed_wrong_is_told_with_its_flag_and_nothing_is_begun() {
    let site = Site::plain("");
    site.write("events.csv", EVENTS);
    site.write("events", EVENTS);
    let wrong: &[(&str, &[&str], &[&str])] = &[
        ("nothing.csv", PAYMENTS, &["nothing.csv", "No such file"]),
        ("in/*.csv", PAYMENTS, &["no file is named by"]),
        ("events", PAYMENTS, &["--input", "ndjson"]),
        ("-", PAYMENTS, &["--input", "ndjson"]),
        ("events.csv", &["--scope", "p", "--id", "evnt_id"], &["no column \"evnt_id\"", "is it \"event_id\""]),
        ("events.csv", &["--scope", "", "--id", "event_id"], &["--scope", "empty"]),
        ("events.csv", &["--scope", "p", "--id", "event_id", "--fail-if", "amount <"], &["--fail-if", "column 9"]),
        ("events.csv", &["--scope", "p", "--id", "event_id", "--scale", "2"], &["--scale", "amount"]),
        ("events.csv", &["--scope", "p", "--id", "event_id", "--delimiter", "é"], &["--delimiter", "ASCII"]),
        ("events.csv", &["--scope", "p", "--id", "event_id", "--chunk", "0"], &["--chunk", "between 1"]),
        ("events.csv", &["--scope", "p", "--id", "event_id", "--sql", "none.sql"], &["--sql", "none.sql"]),
    ];
    for (file, args, words) in wrong {
        let mut typed = vec!["apply", file, "--database", "sqlite:x.db"];
        typed.extend(*args);
        site.onebell(&typed).ended(2).complains(words);
    }
    let listed = site.onebell(&["batches", "--database", "sqlite:x.db", "--format", "json"]).ended(0).json();
    assert!(listed["batches"].as_array().unwrap().iter().all(|batch| batch["applied"] == 0), "{listed:#}");
}
