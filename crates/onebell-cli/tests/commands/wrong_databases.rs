//! A database that is away is waited for; one that cannot be used is told with its remedy, and left as it is.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use onebell_testkit::Cluster;

use crate::site::{Place, Site};

const JOB: &str = "[jobs.work]\ncommand = [\"sh\", \"-c\", \"echo worked >> worked\"]\n";

/// A replica is started while its server is down; commands that do not wait say so.
async fn a_database_that_is_away_is_waited_for_and_work_begins_when_it_comes(version: u32) {
    let mut cluster = Cluster::start(version);
    let site = Site::on_url(cluster.url(), JOB);
    site.until_idle();
    site.onebell(&["trigger", "work", "--key", "k"]).ended(0);
    cluster.stop_immediate();
    let mut replica = site.replica("a");
    let waits = "the database cannot be reached; waiting for it";
    site.until("it says that it waits", || site.read("a.log").contains(waits));
    site.onebell(&["status"]).ended(2).complains(&["the store is away"]);
    site.onebell(&["trigger", "work", "--key", "k2"]).ended(2).complains(&["the store is away"]);
    assert!(replica.ended().is_none());
    cluster.restart();
    site.until("it goes on when the database is there", || site.lines("worked").len() == 1);
    let log = site.read("a.log");
    assert!(log.contains("the database answers") && log.matches(waits).count() == 1, "said once: {log}");
    site.onebell(&["trigger", "work", "--key", "k2", "--wait"]).ended(0);
    // One that waits in vain ends when it is told to.
    assert!(replica.stop().success());
    cluster.stop_immediate();
    let waiting = site.replica("b");
    site.until("it says that it waits", || site.read("b.log").contains(waits));
    assert!(waiting.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_that_is_away_is_waited_for_and_work_begins_when_it_comes() {
    a_database_that_is_away_is_waited_for_and_work_begins_when_it_comes(15).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_that_is_away_is_waited_for_and_work_begins_when_it_comes() {
    a_database_that_is_away_is_waited_for_and_work_begins_when_it_comes(18).await;
}

#[test]
fn a_file_that_cannot_be_opened_is_told_and_not_waited_for() {
    let site = Site::plain(JOB);
    for (url, words) in [
        ("sqlite:missing/onebell.db", ["missing/onebell.db", "check that the file and its folder exist and may be written"]),
        ("sqlite:onebell.toml/onebell.db", ["onebell.toml/onebell.db", "check that the file and its folder exist"]),
        ("sqlite:/proc/onebell.db", ["/proc/onebell.db", "check that the file and its folder exist and may be written"]),
        ("sqlite:onebell.toml", ["onebell.toml is no SQLite database", "name another file with --database sqlite:PATH"]),
    ] {
        for command in [["run", "--until-idle"], ["status", "-q"], ["migrate", "-q"]] {
            let mut args = command.to_vec();
            args.extend(["--database", url]);
            site.onebell(&args).ended(2).complains(&words);
        }
    }
    assert_eq!(site.read("onebell.toml"), JOB);
}

#[test]
fn a_folder_without_permission_is_told_and_not_waited_for() {
    let site = Site::plain(JOB);
    std::fs::create_dir(site.path("locked")).unwrap();
    std::fs::set_permissions(site.path("locked"), std::fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere: the user of the test servers stands in.
    let other = std::env::var("ONEBELL_TEST_SERVER_UID").ok().map(|uid| uid.parse().unwrap());
    std::fs::set_permissions(site.folder(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(other.is_some() || !rustix::process::geteuid().is_root(), "run scripts/test: it names a user who is not root");
    let mut command = site.command(&["run", "--until-idle", "--database", "sqlite:locked/onebell.db"]);
    other.map(|uid| command.uid(uid));
    site.answer(command).ended(2).complains(&["locked/onebell.db", "may be written"]);
}

#[test]
fn a_wrong_url_is_told_without_its_password() {
    let site = Site::plain(JOB);
    for (url, words) in [
        ("mysql://app:s3cret@host/db", ["begins with \"mysql\"", "write sqlite:PATH or postgres://USER@HOST/NAME"]),
        ("onebell.db", ["begins with \"onebell.db\"", "sqlite:PATH"]),
        ("sqlite:", ["needs a file that all replicas share", "sqlite:PATH"]),
        ("sqlite::memory:", ["needs a file that all replicas share", "sqlite:PATH"]),
        ("postgres://app:s3cret@host:port/db", ["port", "port"]),
        ("postgres://app:s3cret@127.0.0.1:1/db?sslmode=maybe", ["sslmode", "maybe"]),
    ] {
        let mut command = site.command(&["run", "--until-idle"]);
        command.env("ONEBELL_DATABASE", url);
        let answer = site.answer(command).ended(2).complains(&words);
        assert!(!answer.stderr.contains("s3cret"), "{}", answer.stderr);
    }
    site.write("onebell.toml", format!("database = \"mysql://app:s3cret@host/db\"\n{JOB}"));
    let answer = site.onebell(&["check"]).ended(2).complains(&["onebell.toml:1:12: database: not a database URL"]);
    assert!(!answer.stderr.contains("not a database URL: mysql"));
    assert_eq!(std::fs::read_dir(site.folder()).unwrap().count(), 1, "nothing was made");
}

async fn a_schema_newer_than_the_program_is_refused_by_every_command_and_left_as_it_is(place: Place) {
    let site = Site::new(place, JOB).await;
    site.until_idle();
    site.onebell(&["trigger", "work", "--key", "k"]).ended(0);
    let known: u32 = site.sql("SELECT max(version) FROM {}schema").await[0][0].parse().unwrap();
    site.sql("UPDATE {}schema SET version = version + 7").await;
    let (newer, known) = (format!(" {}", known + 7), known.to_string());
    let commands: [&[&str]; 8] = [
        &["run", "--until-idle"],
        &["migrate"],
        &["migrate", "--dry-run"],
        &["status"],
        &["jobs"],
        &["trigger", "work", "--key", "k2"],
        &["pause", "work"],
        &["outbox", "list"],
    ];
    for command in commands {
        site.onebell(command).ended(2).complains(&[&newer, "this program knows", &known, "onebell"]);
    }
    assert!(site.lines("worked").is_empty());
    site.sql("UPDATE {}schema SET version = version - 7").await;
    site.until_idle();
    assert_eq!((site.lines("worked").len(), site.the_run()["status"].as_str()), (1, Some("succeeded")), "nothing was lost");
}

async fn migrate_says_what_it_would_do_does_it_once_and_then_has_nothing_to_do(place: Place) {
    let site = Site::new(place, JOB).await;
    let (would, done) = (["would apply 0001"], ["applied 0001"]);
    site.onebell(&["migrate", "--dry-run"]).ended(0).says(&would);
    site.onebell(&["migrate", "--dry-run"]).ended(0).says(&would);
    site.onebell(&["migrate"]).ended(0).says(&done);
    site.onebell(&["migrate", "--dry-run"]).ended(0).says(&["the schema is up to date"]);
    site.onebell(&["migrate"]).ended(0).says(&["the schema is up to date"]);
    site.until_idle();
    site.onebell(&["jobs"]).ended(0).says(&["work"]);
}

crate::everywhere!(
    a_schema_newer_than_the_program_is_refused_by_every_command_and_left_as_it_is,
    migrate_says_what_it_would_do_does_it_once_and_then_has_nothing_to_do,
);
