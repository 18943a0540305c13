//! Paths and hosts: the job file's author chooses them, and nothing that others wrote does.

use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::site::{Place, Site};

const PASSWD: &str = "../../../../../../../../etc/passwd";
const CHANNEL: &str = "[channels.c]\nkind = \"http\"\nurl = \"http://127.0.0.1:1/\"\n";

fn pipe(site: &Site) {
    mknodat(CWD, site.path("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_04_an_id_is_looked_up_and_never_opened() {
    let site = Site::new(Place::Sqlite, "[jobs.work]\ncommand = [\"true\"]\n").await;
    site.run_once("work", "k");
    for id in [PASSWD, "..%2f..%2fetc%2fpasswd", "onebell.toml", "", "' OR 1=1 --"] {
        for typed in [
            &["show", id][..],
            &["logs", id],
            &["logs", id, "--step", id],
            &["cancel", id],
            &["retry", id],
            &["resolve", id, id, "--as", "failed"],
            &["outbox", "show", id],
            &["outbox", "resolve", id, "--as", "drop"],
            &["batches", "show", id],
            &["batches", "resume", id],
            &["batches", "cancel", id],
            &["trigger", id],
            &["pause", id],
        ] {
            let answer = site.onebell(typed).ended(2);
            assert!(answer.stdout.is_empty() && !answer.stderr.contains("root:"), "{typed:?}: {answer:?}");
        }
    }
    assert_eq!(site.the_run()["status"], "succeeded", "nothing was changed");
}

/// A replica that opened one of them would wait for ever, or never come to an end.
#[tokio::test(flavor = "multi_thread")]
async fn k15_04_what_only_looks_like_a_file_is_refused_with_its_place() {
    let site = Site::plain("");
    pipe(&site);
    for (path, why) in [("pipe", "a pipe"), ("/dev/zero", "a device"), (".", "a folder"), ("/proc/self/environ", "is NUL")] {
        for job in [
            format!("[jobs.a]\nsql = {{ file = \"{path}\" }}\n"),
            format!("{CHANNEL}[jobs.a]\nmessage = {{ channel = \"c\", key = \"k\", body_file = \"{path}\" }}\n"),
        ] {
            site.write("onebell.toml", &job);
            let answer = site.onebell(&["check"]).ended(2);
            assert!(answer.stderr.contains(why) && answer.stderr.contains("onebell.toml:"), "{path}: {}", answer.stderr);
        }
    }
    site.write("onebell.toml", "include = [\"pipe\"]\n");
    site.onebell(&["check"]).ended(2).complains(&["it is a pipe; name a regular file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_04_a_pipe_where_a_step_expects_a_file_holds_nobody_up() {
    let once = "retry = { attempts = 1 }";
    let message = "message = { channel = \"c\", key = \"k\", body = \"b\" }";
    let jobs = format!(
        "{CHANNEL}[jobs.output]\nshell = true\ncommand = \"mkfifo $ONEBELL_OUTPUT\"\n\
         [jobs.secret]\ncommand = [\"true\"]\nenv = {{ A = {{ file = \"pipe\" }} }}\n{once}\n\
         [jobs.read]\n{once}\napply = {{ file = \"pipe\", format = \"ndjson\", scope = \"s\", id = \"id\" }}\n\
         [jobs.table]\nfor_each = {{ csv = \"pipe\" }}\n{message}\n\
         [jobs.lines]\nfor_each = {{ ndjson = \"pipe\" }}\n{message}\n"
    );
    let site = Site::new(Place::Sqlite, &jobs).await;
    pipe(&site);
    for job in ["output", "secret", "read", "table", "lines"] {
        let run = site.run_once(job, job);
        site.onebell(&["show", &run]).ended(0).says(&["is a pipe"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_04_a_link_in_an_input_folder_does_not_choose_what_is_read() {
    let jobs = "[jobs.load]\nretry = { attempts = 1 }\napply = { file = \"inbox/*.ndjson\", scope = \"s\", id = \"id\" }\n";
    let site = Site::new(Place::Sqlite, jobs).await;
    std::fs::create_dir_all(site.path("inbox/..data")).unwrap();
    site.write("elsewhere.ndjson", "{\"id\":\"stolen\"}\n");
    site.write("inbox/..data/a.ndjson", "{\"id\":\"a\"}\n");
    // As a mounted ConfigMap has it: inside is inside.
    symlink("..data/a.ndjson", site.path("inbox/a.ndjson")).unwrap();
    let run = site.run_once("load", "1");
    assert_eq!(site.the_run()["status"], "succeeded", "{}", site.onebell(&["show", &run]).out());
    for (count, (name, target)) in (2..).zip([("b.ndjson", "../elsewhere.ndjson"), ("c.ndjson", "/etc/passwd")]) {
        // The others go on.
        site.write(&format!("inbox/z-{name}"), format!("{{\"id\":\"beside {name}\"}}\n"));
        let link = site.path(&format!("inbox/{name}"));
        symlink(target, &link).unwrap();
        let run = site.run_once("load", name);
        let words = ["leads out of", name, "name where it leads to"];
        site.onebell(&["show", &run]).ended(0).says(&words);
        site.onebell(&["apply", "inbox/*.ndjson", "--scope", "s", "--id", "id"]).ended(2).complains(&words);
        assert_eq!(site.onebell(&["effects", "--scope", "s", "--format", "json"]).ended(0).json()["count"], count);
        std::fs::remove_file(link).unwrap();
    }
    // Whoever writes the path himself may name a link.
    symlink("elsewhere.ndjson", site.path("link.ndjson")).unwrap();
    site.onebell(&["apply", "link.ndjson", "--scope", "s", "--id", "id"]).ended(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_04_no_row_chooses_a_host_or_a_file() {
    let site = Site::plain("");
    for url in ["https://{{ rows[0].x }}/x", "https://example.com{{ rows[0].x }}/x", "https://example.com:{{ rows[0].x }}/x"] {
        site.write("onebell.toml", format!("[jobs.a]\nhttp = {{ url = \"{url}\" }}\n"));
        site.onebell(&["check"]).ended(2).complains(&["a template decides which host is asked"]);
    }
    // A path is no template: what stands in it is its name.
    let jobs =
        "[jobs.a]\nfor_each = { csv = \"{{ run.input.file }}\" }\nmessage = { channel = \"c\", key = \"k\", body = \"b\" }\n";
    site.write("onebell.toml", format!("{CHANNEL}{jobs}"));
    site.until_idle();
    let input = format!("{{\"file\": \"{PASSWD}\"}}");
    let run = site.onebell(&["trigger", "a", "--input", &input, "--format", "json"]).ended(0).json()["run"].clone();
    site.until_idle();
    site.onebell(&["show", run.as_str().unwrap()]).ended(0).says(&["{{ run.input.file }}: No such file"]);
}
