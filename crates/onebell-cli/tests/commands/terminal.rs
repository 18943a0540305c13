//! What goes where: answers to stdout, everything else to stderr, colours only where they are wanted, and an exit code that tells.

use crate::site::Site;

const JOB: &str = "[jobs.work]\ncommand = [\"true\"]\n";

#[test]
fn wrong_usage_is_told_on_stderr_with_exit_code_2() {
    let site = Site::plain(JOB);
    let wrong: [(&[&str], &[&str]); 8] = [
        (&[], &["Usage"]),
        (&["stauts"], &["stauts", "status"]),
        (&["runs", "--state", "failed"], &["--state", "--status"]),
        (&["runs", "--status", "done"], &["queued", "succeeded"]),
        (&["runs", "--since", "yesterday"], &["2026-12-01T02:00:00Z", "2h, 3d"]),
        (&["run", "--drain", "1 minute"], &["--drain", "15m"]),
        (&["run", "--roles", "boss"], &["scheduler", "agent", "supervisor", "relay"]),
        (&["status", "--format", "yaml"], &["table, json"]),
    ];
    for (args, words) in wrong {
        let answer = site.onebell(args).ended(2).complains(words);
        assert!(answer.stdout.is_empty(), "{args:?}: {}", answer.out());
    }
    assert!(!site.path("onebell.db").exists());
    site.onebell(&["--help"]).ended(0).says(&["demo", "trigger", "outbox", "--database"]);
    site.onebell(&["--version"]).ended(0).says(&["onebell 0."]);
}

#[test]
fn logs_go_to_stderr_and_quiet_leaves_errors_only() {
    let site = Site::plain(JOB);
    let told = site.until_idle();
    assert!(told.stdout.is_empty() && told.stderr.contains("INFO"), "{}", told.stderr);
    let quiet = site.onebell(&["run", "--until-idle", "-q"]).ended(0);
    assert_eq!((quiet.out(), quiet.stderr), (String::new(), String::new()));
    site.onebell(&["trigger", "none", "-q"]).ended(2).complains(&["no job \"none\""]);
}

#[test]
fn there_is_no_colour_where_nobody_sees_it_or_wants_it() {
    let site = Site::plain(JOB);
    let mut plain = site.command(&["run", "--until-idle"]);
    plain.env("NO_COLOR", "1").env("TERM", "xterm-256color");
    let (no_terminal, not_wanted) = (site.until_idle(), site.answer(plain).ended(0));
    for answer in [no_terminal, not_wanted, site.onebell(&["jobs"]).ended(0), site.onebell(&["nonsense"]).ended(2)] {
        assert!(!answer.out().contains('\u{1b}') && !answer.stderr.contains('\u{1b}'), "{answer:?}");
    }
    // On a terminal of `script`, colours come, and NO_COLOR keeps them away.
    let on_terminal = |no_color: bool| {
        let program = env!("CARGO_BIN_EXE_onebell");
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &format!("{program} run --until-idle"), "/dev/null"])
            .current_dir(site.folder())
            .env("TERM", "xterm");
        command.env_remove("NO_COLOR").env_remove("ONEBELL_LOG").env_remove("ONEBELL_DATABASE");
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let answer = site.answer(command).ended(0);
        answer.out()
    };
    let (with, without) = (on_terminal(false), on_terminal(true));
    assert!(with.contains('\u{1b}') && with.contains("INFO"), "{with}");
    assert!(!without.contains('\u{1b}') && without.contains("INFO"), "{without}");
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let site = Site::plain(JOB);
    site.until_idle();
    let program = env!("CARGO_BIN_EXE_onebell");
    for command in ["status", "jobs", "status --format json", "check"] {
        let mut shell = std::process::Command::new("bash");
        let line = format!("set -o pipefail; {program} {command} | true");
        shell.args(["-c", &line]).current_dir(site.folder()).env_remove("ONEBELL_DATABASE").stdin(std::process::Stdio::null());
        let answer = site.answer(shell).ended(0);
        assert!(answer.stderr.is_empty(), "{}", answer.stderr);
    }
}
