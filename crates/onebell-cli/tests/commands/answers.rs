//! What every command owes whoever types it.

use std::process::Stdio;

use crate::site::Site;

const JOB: &str = "[jobs.a]\ncommand = [\"true\"]\n";

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let site = Site::plain(JOB);
    site.until_idle();
    for args in [&["status", "--format", "json"][..], &["runs"], &["schema"], &["jobs"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = site.command(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains("could not be written to standard output: No space left on device"), "{args:?}: {told}");
    }
}

#[test]
fn nothing_is_no_number_and_no_name() {
    let site = Site::plain(JOB);
    for args in [&["runs", "--limit", "0"][..], &["outbox", "list", "--limit", "0"], &["batches", "--limit", "0"]] {
        site.onebell(args).ended(2).complains(&["--limit"]);
    }
    site.onebell(&["run", "--queues", "", "--until-idle"]).ended(2).complains(&["--queues"]);
}
