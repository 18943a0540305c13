//! Kubernetes manifests.

use onebell_cli::audit::{Importing, Inventory};
use serde_json::json;

use crate::world::{argv, codes, cron_job, imported, manifest, named, next, only, told};

fn spec(lines: &str) -> Inventory {
    manifest(&cron_job(lines))
}

#[test]
fn k16_05_a_zone_in_the_schedule_an_unknown_one_and_one_in_the_wrong_place_are_each_told() {
    let inside = spec("schedule: \"CRON_TZ=Asia/Ho_Chi_Minh 0 2 * * *\"");
    let message = told(only(&inside), "zone-in-schedule");
    assert!(message.contains("refused by current API servers") && message.contains("timeZone: Asia/Ho_Chi_Minh"), "{message}");

    let unknown = spec("schedule: \"0 2 * * *\"\ntimeZone: \"asia/ho_chi_minh\"");
    assert!(
        told(only(&unknown), "zone-unknown").contains("write \"Asia/Ho_Chi_Minh\""),
        "{}",
        told(only(&unknown), "zone-unknown")
    );
    assert!(only(&unknown).next.is_empty());

    let text = cron_job("schedule: \"0 2 * * *\"")
        .replace("      backoffLimit: 0", "      backoffLimit: 0\n      timeZone: Asia/Ho_Chi_Minh");
    let misplaced = manifest(&text);
    let message = told(only(&misplaced), "field-misplaced");
    assert!(message.contains("line 11: spec.jobTemplate.spec.timeZone") && message.contains("move it to spec"), "{message}");
    assert_eq!(next(only(&misplaced))[0], "2026-11-30T02:00:00Z", "it does nothing there");

    let silent = spec("schedule: \"0 2 * * *\"");
    assert!(told(only(&silent), "zone-controller").contains("the next one is then 2026-11-30T02:00:00Z"));
}

#[test]
fn k16_05_the_shared_vector_fires_in_its_zone_however_it_is_named() {
    let fires = ["2026-11-29T19:00:00Z", "2026-11-30T19:00:00Z"];
    for lines in [
        "schedule: \"0 2 * * *\"\ntimeZone: Asia/Ho_Chi_Minh",
        "schedule: \"CRON_TZ=Asia/Ho_Chi_Minh 0 2 * * *\"",
        "schedule: TZ=Asia/Ho_Chi_Minh 0 2 * * *",
    ] {
        assert_eq!(next(only(&spec(lines))), fires, "{lines}");
    }
    let (_, jobs) = imported(&spec("schedule: \"0 2 * * *\"\ntimeZone: Asia/Ho_Chi_Minh"), Importing::default());
    assert_eq!(jobs[0].schedules[0].time_zone, "Asia/Ho_Chi_Minh");
}

#[test]
fn k16_07_what_yaml_refuses_is_told_with_its_line_and_what_to_write() {
    for (line, code, words) in [
        ("schedule: */5 * * * *", "yaml-refused", "write it in quotes: \"*/5 * * * *\""),
        ("schedule: @daily", "yaml-refused", "write it in quotes: \"@daily\""),
        ("schedule: {{ .Values.s }}", "template", "helm template"),
        ("schedule: \"1 1 * * *\"\nschedule: \"2 2 * * *\"", "key-twice", "the key \"schedule\" comes twice"),
        ("schedule: &a [*a]", "yaml-refused", "an alias inside of what it names"),
    ] {
        let found = spec(line);
        let job = only(&found);
        let message = told(job, code);
        assert!(message.contains(words), "{line}: {message}");
        let number = if code == "key-twice" { 7 } else { 6 };
        assert!(
            code == "yaml-refused" && line.contains("[*a]") || message.contains(&format!("line {number}:")),
            "{line}: {message}"
        );
        assert_eq!((job.name.as_str(), found.complete), ("backup", false), "{line}");
    }
}

#[test]
fn k16_07_values_of_another_type_than_they_seem_are_told() {
    let suspended = spec("schedule: \"0 1 * * *\"\nsuspend: \"false\"");
    assert!(
        told(only(&suspended), "type-wrong").contains("spec.suspend is \"false\", a text"),
        "{:?}",
        only(&suspended).findings
    );
    let octal = spec("schedule: \"0 1 * * *\"\nstartingDeadlineSeconds: 010");
    assert!(told(only(&octal), "number-octal").contains("010 is 8 for Kubernetes (octal, YAML 1.1) and 10 for YAML 1.2"));
    assert!(codes(only(&octal)).contains(&"deadline-short"), "8 is what counts");
    let empty = spec("schedule: \"0 1 * * *\"\ntimeZone:");
    assert!(told(only(&empty), "value-empty").contains("spec.timeZone has no value"));
    assert!(codes(only(&empty)).contains(&"zone-controller"));
    let block = spec("schedule: |\n  0 1 * * *\ntimeZone: UTC");
    assert!(told(only(&block), "block-text").contains("was cut off"));
    assert_eq!((only(&block).timing.text.as_str(), next(only(&block))[0].as_str()), ("0 1 * * *", "2026-11-30T01:00:00Z"));
    let yes = spec("schedule: \"0 1 * * *\"\nsuspend: yes");
    assert!(only(&yes).paused && codes(only(&yes)).contains(&"word-flag"));
}

#[test]
fn k16_07_aliases_that_grow_are_refused_before_they_do() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{below}"); 10].join(", ")));
    }
    let found = manifest(&text);
    assert!(told(only(&found), "yaml-refused").contains("larger than any manifest"));
    let deep = manifest(&format!("kind: CronJob\nspec: {}{}\n", "[".repeat(5000), "]".repeat(5000)));
    assert!(codes(only(&deep)).contains(&"yaml-refused"));
    let chain: String = (1..3000).map(|level| format!("b{level}: &b{level} [*b{}]\n", level - 1)).collect();
    assert!(codes(only(&manifest(&format!("b0: &b0 [x]\n{chain}")))).contains(&"yaml-refused"));
}

#[test]
fn k16_08_deadlines_and_periods_that_lose_runs_are_told() {
    let short = spec("schedule: \"* * * * *\"\nstartingDeadlineSeconds: 5");
    assert!(told(only(&short), "deadline-short").contains("the controller checks about every 10 s, so a run may never start"));
    let none = spec("schedule: \"* * * * *\"");
    let message = told(only(&none), "missed-stop");
    assert!(message.contains("more than 100 missed starts") && message.contains("101 minutes"), "{message}");
    assert!(told(only(&none), "overlap-allowed").contains("concurrencyPolicy"));
    // Its runs may take ten minutes.
    let late = spec("schedule: \"* * * * *\"\nstartingDeadlineSeconds: 200\nconcurrencyPolicy: Forbid");
    let message = told(only(&late), "late-start");
    assert!(message.contains("as late as 3m20s") && message.contains("when the run before it ends"), "{message}");
    assert!(!codes(only(&late)).contains(&"missed-stop") && !codes(only(&late)).contains(&"deadline-short"));
}

#[test]
fn k16_10_a_suspended_cronjob_is_listed_as_paused_and_imported_as_a_paused_job() {
    let found = spec("schedule: \"0 1 1 * *\"\ntimeZone: UTC\nsuspend: true");
    let job = only(&found);
    assert!(job.paused && next(job)[0] == "2026-12-01T01:00:00Z");
    assert!(told(job, "paused").contains("switched on, it would run next at 2026-12-01T01:00:00Z"));
    assert!(found.counts()[1] >= 1, "it is not healthy");
    let (made, jobs) = imported(&found, Importing::default());
    assert_eq!(
        (made.paused.as_slice(), jobs[0].schedules.len(), jobs[0].begins_paused),
        (["backup".to_owned()].as_slice(), 1, true)
    );
    assert!(made.text.contains("onebell resume backup") && made.text.contains("\nschedule = \"0 1 1 * *\"\n"), "{}", made.text);
}

#[test]
fn a_good_cronjob_gets_notes_alone() {
    let text = "schedule: \"0 * * * *\"\ntimeZone: Asia/Ho_Chi_Minh\nconcurrencyPolicy: Forbid\nstartingDeadlineSeconds: 300";
    let found = spec(text);
    assert_eq!((codes(only(&found)), found.counts()), (vec!["runs-twice"], [1, 0, 0]));
    let answer = serde_json::to_value(found.json()).unwrap();
    let expected = json!({
        "jobs": [{
            "source": "file#1:6",
            "name": "backup",
            "schedule": "0 * * * *",
            "next": ["2026-11-29T13:00:00Z", "2026-11-29T14:00:00Z"],
            "findings": [{
                "code": "runs-twice",
                "severity": "note",
                "message": "the controller may create two Jobs for one slot, and a Job two pods: a second run does everything again",
                "fix": "give its effects identities, or run it with Onebell"
            }]
        }],
        "complete": true
    });
    assert_eq!(answer, expected);
}

#[test]
fn lists_many_documents_and_json_are_read_and_a_broken_document_stops_no_other() {
    let item = |name: &str| cron_job("schedule: \"0 1 * * *\"").replace("name: backup", &format!("name: {name}"));
    let many = format!("# c\n{}---\nkind: Service\nspec: {{}}\n---\na: b: c\n---\n{}...\n---\n", item("one"), item("two"));
    let found = manifest(&many);
    let places: Vec<(String, &str)> = found.jobs.iter().map(|job| (job.place(), job.name.as_str())).collect();
    let expected = [("file#1:7".to_owned(), "one"), ("file#3:23".to_owned(), ""), ("file#4:30".to_owned(), "two")];
    assert_eq!((places.as_slice(), found.complete), (expected.as_slice(), false));

    let indented: String = item("three").lines().map(|line| format!("    {line}\n")).collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n-\n{indented}- kind: ConfigMap\n");
    assert_eq!(only(&manifest(&list)).place(), "file#1:10");
    let job = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "j"}, "spec": {"schedule": "*/5 * * * *", "jobTemplate": {}}});
    let found = named("all.json", json!({"kind": "List", "items": [job, job]}).to_string());
    assert_eq!(found.jobs.len(), 2);
    assert!(codes(&found.jobs[0]).contains(&"field-missing"));
}

#[test]
fn what_the_api_server_refuses_is_told_before_it_does() {
    for (from, to, code) in [
        ("batch/v1", "batch/v1beta1", "api-removed"),
        ("batch/v1", "v1", "kind-refused"),
        ("kind: CronJob", "kind: Cronjob", "kind-refused"),
        ("name: backup", "name: Backup_1", "name-refused"),
        ("restartPolicy: Never", "restartPolicy: Always", "type-wrong"),
        ("restartPolicy: Never", "hostNetwork: true", "field-missing"),
        ("schedule: \"0 1 * * *\"", "shedule: \"0 1 * * *\"", "field-unknown"),
        ("schedule: \"0 1 * * *\"", "shedule: \"0 1 * * *\"", "schedule-missing"),
        ("schedule: \"0 1 * * *\"", "schedule: \"0 1 * * 7\"", "schedule-refused"),
        ("schedule: \"0 1 * * *\"", "schedule: \"0 1 * * *\"\n  backoffLimit: 1", "field-misplaced"),
        ("schedule: \"0 1 * * *\"", "schedule: \"0 1 * * *\"\n  concurrencyPolicy: forbid", "type-wrong"),
        ("schedule: \"0 1 * * *\"", "schedule: \"{{ .Values.s }}\"", "template"),
        ("schedule: \"0 1 * * *\"", "schedule: 5", "type-wrong"),
        ("schedule: \"0 1 * * *\"", "schedule: [a]", "type-wrong"),
        ("\"--all\"", "5", "type-wrong"),
        ("backoffLimit: 0", "backoffLimit: 0\n      parallelism: 3", "parallel-pods"),
        ("      backoffLimit: 0\n", "", "retried-whole"),
        ("      activeDeadlineSeconds: 600\n", "", "unbounded"),
    ] {
        let found = manifest(&cron_job("schedule: \"0 1 * * *\"").replace(from, to));
        assert!(codes(only(&found)).contains(&code), "{to}: {:#?}", only(&found).findings);
    }
}

#[test]
fn the_controllers_own_rules_are_told_where_they_are_not_crons() {
    let steps = spec("schedule: \"0 0 */2 * 1\"\ntimeZone: UTC");
    assert!(codes(only(&steps)).contains(&"star-step"));
    assert_eq!(next(only(&steps)), ["2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z"], "one of the two is enough");
    let twice = spec("schedule: \"30 2 * * *\"\ntimeZone: Europe/Berlin");
    assert!(told(only(&twice), "clock-change").contains("around 2027-03-28"), "{}", told(only(&twice), "clock-change"));
    let every = spec("schedule: \"@every 90m\"");
    assert!(codes(only(&every)).contains(&"counted") && only(&every).next.is_empty());
    let (_, jobs) = imported(&every, Importing::default());
    assert_eq!(jobs[0].schedules[0].when, onebell::model::job::When::Every(std::time::Duration::from_secs(5400)));
}

#[test]
fn containers_become_steps_and_what_they_need_besides_is_written_beside_them() {
    let found = named("cron.yaml", include_str!("fixtures/cronjobs.yaml"));
    let (made, jobs) = imported(&found, Importing::default());
    let job = jobs.iter().find(|job| job.name == "report").unwrap();
    let names: Vec<&str> = job.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["wait-for-db", "main"]);
    let spec: serde_json::Value = serde_json::from_str(&job.steps[1].spec).unwrap();
    assert_eq!(spec["argv"], json!(["/app/report", "--to", "a b@example.com", "--level=3"]));
    assert_eq!((&spec["env"]["LEVEL"], &spec["env"]["PASSWORD"]), (&json!({"text": "3"}), &json!(null)));
    assert!(job.schedules[0].time_zone == "Europe/Berlin" && job.steps[1].retry.attempts == 3);
    for words in [
        "PASSWORD comes from secretKeyRef db password",
        "image \"registry.example.com/report:7\"",
        "volumes (line",
        "resources (line",
    ] {
        assert!(made.text.contains(words), "{words}: {}", made.text);
    }
    assert!(!made.text.contains("not-a-secret-here"));
    assert!(made.left_out.iter().any(|left| left.contains("no-command")), "{:?}", made.left_out);
    assert_eq!(argv(jobs.iter().find(|job| job.name == "cleanup").unwrap()), ["/bin/sh", "-c", "rm -rf /tmp/x\n"]);
}

#[test]
fn a_folder_of_manifests_may_hold_other_things() {
    let helm = onebell_cli::audit::File {
        named: false,
        ..onebell_cli::audit::File::new("chart/deployment.yaml", "a: {{ .Values.x }}\n")
    };
    let found = onebell_cli::audit::inventory(&[helm], &crate::world::reading(None, None));
    assert!(found.jobs.is_empty() && found.complete);
    assert_eq!(codes(only(&named("values.yaml", "a: 1\n"))), ["nothing-found"]);
    let other = manifest("kind: CronWorkflow\nmetadata: {name: w}\nspec: {schedule: \"0 1 * * *\"}\n");
    assert_eq!(codes(only(&other)), ["kind-foreign"]);
}
