//! The two commands as people type them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

struct Folder(tempfile::TempDir);

struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn onebell(&self, args: &[&str], input: Option<&Path>) -> Answer {
        let input = input.map_or(Stdio::null(), |path| std::fs::File::open(path).unwrap().into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        let answer = command.args(args).current_dir(self.0.path()).env_remove("ONEBELL_DATABASE").stdin(input).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer { code: answer.status.code().unwrap(), out: text(answer.stdout), err: text(answer.stderr) }
    }

    fn json(&self, args: &[&str]) -> (i32, Value) {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        let answer = self.onebell(&args, None);
        (answer.code, serde_json::from_str(&answer.out).unwrap())
    }
}

const GOOD: &str = "CRON_TZ=UTC\n0 3 * * * onebell once --key k --slot '0 3 * * *' -- timeout 1h /usr/local/bin/backup\n";

#[test]
fn exit_codes_are_0_for_notes_3_for_findings_and_2_for_what_cannot_be_read() {
    let folder = Folder::new(&[("good", GOOD), ("bad", "* * * * * /x\n")]);
    assert_eq!(folder.onebell(&["audit", "good"], None).code, 0);
    assert_eq!(folder.onebell(&["audit", "bad", "good"], None).code, 3);
    let (code, answer) = folder.json(&["audit", "good", "gone", "bad"]);
    assert_eq!((code, &answer["complete"], answer["jobs"].as_array().unwrap().len()), (2, &json!(false), 3), "{answer}");
    assert_eq!(answer["jobs"][1]["findings"][0]["code"], "unreadable");
    assert_eq!(folder.onebell(&["audit"], None).code, 2);
    assert_eq!(folder.onebell(&["audit", "good", "--time-zone", "Mars"], None).code, 2);
    assert_eq!(folder.onebell(&["audit", "good", "--as", "yaml"], None).code, 2);
}

#[test]
fn folders_standard_input_and_the_forms_of_files_are_told_apart() {
    let folder = Folder::new(&[
        ("etc/cron.d/app", "0 3 * * * root /a\n"),
        ("etc/cron.d/.placeholder", "# nothing\n"),
        ("k8s/cron.yaml", include_str!("fixtures/cronjobs.yaml")),
        ("k8s/README.md", "# Jobs\n"),
        ("k8s/deep/more.yml", "kind: Service\n"),
        ("units/backup.timer", "[Timer]\nOnCalendar=daily UTC\n"),
        ("units/backup.service", "[Service]\nExecStart=/b\n"),
        ("units/other.service", "[Service]\nExecStart=/c\n"),
        ("piped", "15 4 * * * /piped\n"),
    ]);
    let (_, answer) = folder.json(&["audit", "etc", "k8s", "units", "--from", "2026-12-01T00:00:00Z", "--count", "1"]);
    let jobs: Vec<(&str, &str)> = answer["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (job["source"].as_str().unwrap(), job["name"].as_str().unwrap()))
        .collect();
    let expected = [
        ("etc/cron.d/app:1", "a"),
        ("k8s/cron.yaml#2:13", "report"),
        ("k8s/cron.yaml#3:72", "cleanup"),
        ("k8s/cron.yaml#4:94", "no-command"),
        ("units/backup.timer:2", "backup"),
    ];
    assert_eq!(jobs, expected);
    assert_eq!((&answer["jobs"][4]["next"], &answer["complete"]), (&json!(["2026-12-01T00:00:00Z"]), &json!(true)));
    let piped = folder.onebell(&["audit", "-", "--format", "json"], Some(&folder.path("piped")));
    let piped: Value = serde_json::from_str(&piped.out).unwrap();
    assert_eq!(piped["jobs"][0]["source"], "-:1");
    let (_, forced) = folder.json(&["audit", "etc/cron.d/app", "--as", "crontab"]);
    assert_eq!(forced["jobs"][0]["findings"][0]["code"], "user-column", "{forced}");
}

#[test]
fn k15_01_the_table_and_the_page_show_foreign_text_without_letting_it_act() {
    let folder = Folder::new(&[("bad", "0 1 * * * /x%<script>alert(1)</script>\u{1b}[2J\u{202e}\"'&\n")]);
    let answer = folder.onebell(&["audit", "bad", "--html", "page.html"], None);
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    for text in [&answer.out, &page, &answer.err] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    assert!(
        !page.contains("<script")
            && page.contains("&lt;script&gt;")
            && page.contains("\\u{202e}")
            && page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';")
            && page.starts_with("<!doctype html>"),
        "{page}"
    );
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(answer.out.contains("percent") && answer.out.contains("1 job, "), "{}", answer.out);
}

#[test]
fn import_writes_what_check_takes_and_overwrites_nothing_by_itself() {
    let folder =
        Folder::new(&[("crontab", include_str!("fixtures/crontab")), ("k8s.yaml", include_str!("fixtures/cronjobs.yaml"))]);
    let first = folder.onebell(&["import", "crontab", "k8s.yaml", "-o", "onebell.toml"], None);
    assert_eq!(first.code, 3, "{}", first.err);
    assert!(first.out.contains("onebell resume cleanup") && first.out.contains("not imported: no-command"), "{}", first.out);
    let checked = folder.onebell(&["check"], None);
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let again = folder.onebell(&["import", "crontab", "-o", "onebell.toml"], None);
    assert_eq!((again.code, again.err.contains("add --force")), (2, true), "{}", again.err);
    assert!(std::fs::read_to_string(folder.path("onebell.toml")).unwrap().contains("[jobs.report]"));
    assert_eq!(folder.onebell(&["import", "crontab", "-o", "onebell.toml", "--force"], None).code, 3);
    assert!(!std::fs::read_to_string(folder.path("onebell.toml")).unwrap().contains("[jobs.report]"));
    let printed = folder.onebell(&["import", "k8s.yaml"], None);
    assert!(
        printed.out.starts_with("# Made by `onebell import`") && printed.err.contains("onebell resume cleanup"),
        "{}",
        printed.err
    );
    let good = Folder::new(&[("good", GOOD)]);
    assert_eq!(good.onebell(&["import", "good", "-o", "onebell.toml"], None).code, 0);
    assert_eq!(good.onebell(&["check"], None).code, 0);
}

#[test]
fn a_timer_that_a_link_leads_to_is_read_once_and_with_its_service() {
    let folder = Folder::new(&[
        ("lib/a.timer", "[Timer]\nOnCalendar=daily UTC\n"),
        ("lib/a.service", "[Service]\nExecStart=/a\n"),
        ("etc/x", ""),
    ]);
    std::fs::create_dir(folder.path("etc/timers.target.wants")).unwrap();
    for name in ["etc/timers.target.wants/a.timer", "lib/z.wants.timer"] {
        std::os::unix::fs::symlink(folder.path("lib/a.timer"), folder.path(name)).unwrap();
    }
    let (_, answer) = folder.json(&["audit", "etc"]);
    let codes: Vec<&str> =
        answer["jobs"][0]["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"unbounded") && !codes.contains(&"unit-missing"), "{answer}");
    let (_, answer) = folder.json(&["audit", "lib", "etc"]);
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1, "{answer}");
}
