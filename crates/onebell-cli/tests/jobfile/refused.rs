//! What a wrong file is told.

use std::fs;
use std::path::Path;

use onebell_cli::jobfile::{ChannelConfig, JobFile, Tls};
use tempfile::TempDir;

use crate::{CHANNEL, job, message, parse, partly, problems, the_one, told};

#[test]
fn an_unknown_key_is_told_with_the_nearest_right_one_under_its_place() {
    let problem = &problems("[jobs.backup]\nscedule = \"0 3 * * *\"\ncommand = [\"true\"]\n")[0];
    assert_eq!(
        problem.to_string(),
        "onebell.toml:2:1: unknown key \"scedule\"; did you mean \"schedule\"?\n  |\n2 | scedule = \"0 3 * * *\"\n  | ^^^^^^^"
    );
    assert_eq!(the_one(&job("time-zone = \"UTC\"")), "2:1 unknown key \"time-zone\"; did you mean \"time_zone\"?");
    assert_eq!(the_one(&job("cron = \"0 3 * * *\"")), "2:1 unknown key \"cron\"; did you mean \"schedule\"?");
    assert_eq!(
        the_one(&job("concurrencyPolicy = \"Forbid\"")),
        "2:1 unknown key \"concurrencyPolicy\"; did you mean \"overlap\"?"
    );
    assert_eq!(the_one("[replcia]\nlease = \"5s\""), "1:2 unknown key \"replcia\"; did you mean \"replica\"?");
    assert_eq!(the_one(&job("retry = { atempts = 3 }")), "2:11 unknown key \"atempts\"; did you mean \"attempts\"?");
    assert!(the_one("[replica]\nxyz = 1").starts_with("2:1 unknown key \"xyz\"; write one of \"callback_url\", \"concurrency\""));
}

#[test]
fn one_wrong_job_does_not_hide_the_others_and_every_wrong_job_is_told() {
    let text = "[jobs.a]\nscedule = \"x\"\ncommand = [\"true\"]\n[jobs.good]\ncommand = [\"true\"]\n[jobs.b]\ntimeout = 5\nevry = \"1h\"\ncommand = [\"true\"]\n";
    let file = partly(text);
    assert_eq!(file.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["good"]);
    let jobs: Vec<_> = file.bad_jobs.iter().map(|problem| (problem.job.as_deref(), problem.line)).collect();
    assert_eq!(jobs, [(Some("a"), 2), (Some("b"), 7), (Some("b"), 8)]);
    assert_eq!(file.whole().unwrap_err().problems.len(), 3);
}

#[test]
fn what_is_wrong_outside_the_jobs_refuses_the_file_and_tells_the_jobs_problems_too() {
    let report = JobFile::parse_partly("[replica]\nlease = 10\n[jobs.j]\ncommand = []\n", Path::new("f.toml")).unwrap_err();
    let lines: Vec<_> = report.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 4]);
    assert!(
        report
            .to_string()
            .contains("f.toml:2:9: lease: expected a duration, found the number 10; write whole numbers with d, h, m, s or ms")
    );
}

#[test]
fn an_unknown_zone_is_told_at_its_place_with_the_nearest_one() {
    let told = the_one(&job("time_zone = \"Asia/Ho_Chi_Mihn\""));
    assert_eq!(told, "2:13 time_zone: no such time zone \"Asia/Ho_Chi_Mihn\"; did you mean \"Asia/Ho_Chi_Minh\"?");
    assert!(the_one("[defaults]\ntime_zone = \"Europe/Berlni\"").starts_with("2:13 time_zone: no such time zone"));
}

#[test]
fn a_wrong_schedule_is_told_at_the_field_that_is_wrong() {
    let told = the_one(&job("schedule = \"0 61 * * *\""));
    assert!(told.starts_with("2:15 schedule: hour field \"61\":"), "{told}");
    assert!(the_one(&job("schedule = \"0 0 30 2 *\"")).contains("never"), "an expression that can never fire");
    assert!(the_one(&job("schedule = [\"0 2 * * *\", \"x 2 * * *\"]")).starts_with("2:26 schedule: minute field"));
    assert!(the_one(&job("every = \"500ms\"")).contains("one second or more"));
    assert!(the_one(&job("at = \"tomorrow\"")).starts_with("2:6 at: "));
}

#[test]
fn two_definitions_of_one_job_are_told_in_those_words_and_spoil_only_that_job() {
    let text = "[jobs.a]\nschedule = \"0 3 * * *\"\ncommand = [\"x\"]\n[jobs.good]\ncommand = [\"y\"]\n[jobs.a]\nschedule = \"0 4 * * *\"\ncommand = [\"z\"]\n";
    assert_eq!(partly(text).jobs.len(), 1);
    assert_eq!(the_one(text), "6:7 two definitions of job \"a\" (the first is in line 1); rename or remove one");
    assert_eq!(
        the_one("[jobs.a]\ncommand = [\"x\"]\ntimeout = \"1m\"\ntimeout = \"2m\"\n"),
        "4:1 two values for timeout; keep one of them"
    );
    assert!(the_one(&format!("{CHANNEL}{CHANNEL}")).contains("two definitions of channel \"mail\""));
    let renamed = "[jobs.a]\ncommand = [\"x\"]\n[jobs.b]\nformerly = \"a\"\ncommand = [\"x\"]\n";
    assert_eq!(the_one(renamed), "4:12 formerly: two definitions of job \"a\"; keep one of them");
}

#[test]
fn what_is_no_toml_is_told_with_line_and_column() {
    let told = told("[jobs.a]\ncommand = [\"x\"\n[jobs.b]\ncommand = 5 6\n");
    assert!(told.iter().any(|told| told.contains("not TOML")), "{told:?}");
    assert!(told.iter().all(|told| told.starts_with(['2', '3', '4'])), "{told:?}");
}

#[test]
fn a_wrong_type_names_what_was_expected_and_what_was_found() {
    for (line, expected) in [
        (
            "timeout = 5",
            "2:11 timeout: expected a duration, found the number 5; write whole numbers with d, h, m, s or ms, such as \"90s\", \"15m\", \"1h30m\", \"2d\" or \"500ms\"",
        ),
        (
            "timeout = \"5 minutes\"",
            "2:11 timeout: \"5 minutes\" is not a duration; write whole numbers with d, h, m, s or ms, such as \"90s\", \"15m\", \"1h30m\", \"2d\" or \"500ms\"",
        ),
        ("timeout = \"0s\"", "2:11 timeout: it is zero; write a duration longer than zero, such as \"5m\""),
        (
            "timeout = \"1h\"\nhard_limit = \"1m\"",
            "3:14 hard_limit: shorter than timeout; raise it, or leave it out (10 × timeout)",
        ),
        ("retry = 3", "2:9 retry: expected a table, found the number 3; write retry = { attempts = 5, backoff = \"2s..5m\" }"),
        (
            "retry = { attempts = 0 }",
            "2:22 attempts: expected a whole number from 1 to 1000000, found the number 0; write attempts = 5",
        ),
        (
            "retry = { backoff = \"1m..1s\" }",
            "2:21 backoff: \"1m..1s\" runs backwards; write the first wait and the longest one, such as \"1s..1m\", or \"5s\"",
        ),
        ("on_lost = \"hodl\"", "2:11 on_lost: \"hodl\" is not a choice here; did you mean \"hold\"?"),
        (
            "overlap = \"wait\"",
            "2:11 overlap: \"wait\" is not a choice here; write one of \"allow\", \"queue\", \"replace\", \"skip\"",
        ),
        ("missed = \"all\"", "2:10 missed: \"all\" has no limit; write { all = 10 }"),
        (
            "priority = \"high\"",
            "2:12 priority: expected a whole number from -1000000 to 1000000, found the string \"high\"; write priority = 10",
        ),
        (
            "exit_codes = { permanent = [3], retry = [3] }",
            "2:14 exit_codes: 3 is permanent and to be tried again; write it in one of the two",
        ),
        ("env = { ONEBELL_X = \"1\" }", "2:9 ONEBELL_X is set by onebell; choose a name without ONEBELL_"),
        ("env = { A = { evn = \"X\" } }", "2:15 unknown key \"evn\"; did you mean \"env\"?"),
    ] {
        assert!(told(&job(line)).contains(&expected.to_owned()), "{line}: {:#?}", told(&job(line)));
    }
}

#[test]
fn steps_that_name_what_is_not_there_are_told_at_the_name() {
    let steps = |lines: &str| {
        format!(
            "[jobs.j]\n[[jobs.j.steps]]\nname = \"pull\"\nsql = \"x\"\n[[jobs.j.steps]]\nname = \"compute\"\ncommand = [\"x\"]\n{lines}\n"
        )
    };
    assert_eq!(the_one(&steps("after = [\"pul\"]")), "8:10 after: \"pul\" is no step of this job; did you mean \"pull\"?");
    assert_eq!(the_one(&steps("input = \"pulled\"")), "8:9 input: \"pulled\" is no step of this job; did you mean \"pull\"?");
    assert_eq!(
        the_one(&steps("after = []\ninput = \"pull\"")),
        "9:9 input: \"pull\" is not done before \"compute\"; write after = [\"pull\"]"
    );
    let circle = steps("after = [\"pull\"]").replace("sql = \"x\"", "sql = \"x\"\nafter = [\"compute\"]");
    assert_eq!(
        the_one(&circle),
        "1:7 steps \"pull\", \"compute\" wait for each other in a circle; change `after` of one of them"
    );
    assert_eq!(the_one(&steps("").replace("compute", "pull")), "6:1 two steps are named \"pull\"; rename one");
    assert_eq!(the_one(&steps("[[jobs.j.steps]]\ncommand = [\"x\"]")), "8:1 name is missing; write name = \"…\"");
}

#[test]
fn the_name_of_the_built_in_job_is_taken() {
    assert_eq!(
        the_one("[jobs.once]\ncommand = [\"true\"]"),
        "1:7 the name \"once\" belongs to the commands of `onebell once`; choose another one"
    );
}

#[test]
fn a_job_says_what_it_does_once_and_a_steps_key_stands_on_a_step() {
    assert_eq!(
        the_one("[jobs.j]\nschedule = \"@daily\"\n"),
        "1:7 job \"j\" has no step; write command, http, sql, apply or message, or steps under [[jobs.j.steps]]"
    );
    assert_eq!(the_one(&job("sql = \"x\"")), "2:1 sql beside command; one step does one thing; make it a step of its own");
    let both = "[jobs.j]\ntimeout = \"1m\"\n[[jobs.j.steps]]\nname = \"a\"\nsql = \"x\"\n";
    assert_eq!(the_one(both), "2:1 timeout belongs to a step; move it below [[jobs.NAME.steps]]");
    assert_eq!(
        the_one("[jobs.j]\nsql = \"x\"\nenv = { A = \"1\" }\n"),
        "3:1 env belongs to a command, this is a sql step; remove it"
    );
    assert_eq!(
        the_one(&job("for_each = { csv = \"x\" }")),
        "2:1 for_each belongs to a message, this is a command step; remove it"
    );
}

#[test]
fn what_a_later_version_brings_is_refused_and_never_ignored() {
    let apply = |keys: &str| the_one(&format!("[jobs.j]\napply = {{ {keys} }}\n"));
    let both = "scope = \"s\", id = \"id\"";
    assert!(apply("file = \"x.csv\", scope = \"s\"").contains("id is missing"), "{}", apply("file = \"x.csv\", scope = \"s\""));
    let one = "exactly one of file, url, command, query and output_of";
    assert!(apply(both).contains(one));
    assert!(apply(&format!("file = \"x.csv\", url = \"https://example.com/x.csv\", {both}")).contains(one));
    assert!(apply(&format!("command = [\"./x\"], query = \"SELECT 1\", {both}")).contains(one));
    assert!(apply(&format!("url = \"http://example.com/x.csv\", {both}")).contains("write an https:// address"));
    assert!(apply(&format!("url = \"example.com/x.csv\", {both}")).contains("https://"));
    assert!(apply(&format!("url = \"https://example.com/x\", {both}")).contains("ndjson"));
    assert!(apply(&format!("command = \"./x --all\", format = \"csv\", {both}")).contains("write [\"./x\", \"--all\"]"));
    assert!(apply(&format!("command = [\"./x\"], {both}")).contains("ndjson"));
    assert!(apply(&format!("query = \" \", {both}")).contains("no statement"));
    assert!(apply(&format!("query = \"SELECT 1\", format = \"csv\", {both}")).contains("rows of a query are objects"));
    assert!(apply(&format!("file = \"x\", {both}")).contains("ndjson"));
    assert!(apply(&format!("file = \"x.csv\", fail_if = \"amount <\", {both}")).contains("column 9"));
    assert!(apply(&format!("file = \"x.csv\", delimiter = \"::\", {both}")).contains("one character"));
    assert!(apply(&format!("file = \"x.csv\", scale = 2, {both}")).contains("amount"));
    assert_eq!(the_one("[channels.m]\nkind = \"smpt\"\n"), "2:8 unknown kind \"smpt\"; did you mean \"smtp\"?");
}

#[test]
fn an_unreadable_file_is_named_with_its_key() {
    let told = the_one("[jobs.j]\nsql = { file = \"pull.sql\" }\n");
    assert!(told.starts_with("2:16 file: cannot read pull.sql: No such file"), "{told}");
    let told = the_one(&message("channel = \"mail\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext_file = \"gone.txt\""));
    assert!(told.starts_with("14:13 text_file: cannot read gone.txt: No such file"), "{told}");
    let report = JobFile::load(Path::new("/nowhere/onebell.toml")).unwrap_err().to_string();
    assert!(report.starts_with("/nowhere/onebell.toml:1:1: cannot read the job file: No such file"), "{report}");
}

#[test]
fn an_unknown_channel_is_told_with_the_nearest_one() {
    let text = message("channel = \"mial\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext = \"x\"");
    assert_eq!(the_one(&text), "10:11 channel: there is no channel \"mial\"; did you mean \"mail\"?");
    let text = "[jobs.j]\nmessage = { channel = \"mail\", key = \"k\", to = \"t\", subject = \"s\", text = \"x\" }\n";
    assert_eq!(the_one(text), "2:23 channel: there is no channel \"mail\"; define it under [channels.mail]");
    // A channel that is there but wrong is told once, where it is wrong.
    assert_eq!(told(&format!("[channels.mail]\nkind = \"carrier-pigeon\"\n{text}")).len(), 1);
}

#[test]
fn a_template_that_cannot_be_read_is_told_at_its_line_also_in_its_own_file() {
    let text = message(
        "channel = \"mail\"\nkey = \"{{ row.id\"\nto = \"t\"\nsubject = \"s\"\ntext = \"\"\"\nDear\n{{ row.name }\n\"\"\"",
    );
    let told = told(&text);
    assert!(told[0].starts_with("11:7 key: template \"key\": syntax error"), "{told:#?}");
    assert!(told[1].starts_with("16:1 text: template \"text\" line 2: syntax error"), "{told:#?}");

    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("r.txt"), "Dear\n\n{% if %}\n").unwrap();
    let text = message("channel = \"mail\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext_file = \"r.txt\"");
    let file = JobFile::parse_partly(&text, &folder.path().join("onebell.toml")).unwrap();
    let told = file.bad_jobs[0].to_string();
    let place = format!("{}:3:1: text_file: template \"text\" line 3: syntax error", folder.path().join("r.txt").display());
    assert!(told.starts_with(&place) && told.ends_with("\n3 | {% if %}\n  | ^^^^^^^^"), "{told}");
}

#[test]
fn a_message_needs_its_parts_and_one_source_of_rows() {
    let told = told(&message("channel = \"mail\"\ntext = \"x\"\ntext_file = \"y\""));
    let missing: Vec<_> = told.iter().filter(|told| told.contains("is missing")).collect();
    assert_eq!(missing.len(), 3, "{told:#?}");
    let rows = |source: &str| {
        message("channel = \"mail\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext = \"x\"")
            .replace("name =", &format!("for_each = {{ {source} }}\nname ="))
    };
    assert_eq!(the_one(&rows("")), "8:12 for_each: no source of rows; write one of output_of, csv, ndjson and sql");
    assert_eq!(
        the_one(&rows("csv = \"a\", sql = \"b\"")),
        "8:12 for_each: more than one source of rows; write one of output_of, csv, ndjson and sql"
    );
    assert_eq!(the_one(&rows("cvs = \"a\"")), "8:14 unknown key \"cvs\"; did you mean \"csv\"?");
}

#[test]
fn a_channel_is_judged_by_its_own_keys() {
    let channel = |lines: &str| format!("[channels.m]\nkind = \"smtp\"\n{lines}\n");
    assert_eq!(told(&channel("")).len(), 2, "host and from");
    let good = "host = \"mail.example.com\"\nfrom = \"a@example.com\"";
    let file = parse(&channel(good));
    let ChannelConfig::Smtp(smtp) = &file.channels["m"] else { panic!("{file:?}") };
    assert_eq!((smtp.port, smtp.tls), (587, Tls::StartTls), "never plain text to another host unless it is written");
    assert_eq!(
        the_one(&channel(&format!("{good}\ntls = \"start\""))),
        "5:7 tls: \"start\" is not a choice here; write one of \"none\", \"opportunistic\", \"starttls\", \"tls\""
    );
    assert!(the_one(&channel(&good.replace("a@example.com", "nobody"))).starts_with("4:8 from: \"nobody\" is no sender"));
    assert!(the_one(&channel(&format!("{good}\nusername = \"u\""))).starts_with("5:1 username without password"));
    assert!(the_one("database = \"mysql://u:secret@h/d\"").starts_with("1:12 database: not a database URL;"));
}

#[test]
fn no_damage_to_a_file_is_more_than_a_problem() {
    let text = format!(
        "[defaults]\nretry = {{ within = \"1h\" }}\n{}",
        message("channel = \"mail\"\nkey = \"é{{ run.id }}\"\nto = \"t\"\nsubject = \"s\"\ntext = \"\"\"\nx {{ row.ü }}\"\"\"")
    );
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for at in places {
        for piece in ["", "\"", "[", "\n", "=", "é", "{{", "\u{0}", "[jobs.j]\n"] {
            let rest = text[at..].chars().skip(usize::from(piece.is_empty())).collect::<String>();
            let damaged = format!("{}{piece}{rest}", &text[..at]);
            if let Err(report) = JobFile::parse(&damaged, Path::new("onebell.toml")) {
                assert!(!report.problems.is_empty() && !report.to_string().is_empty());
            }
        }
    }
}

/// What was pruned is never opened again: a catch-up that is longer than what is kept would end without a word.
#[test]
fn a_window_for_missed_slots_longer_than_what_is_kept_is_refused() {
    let yearly = "every = \"1h\"\nmissed_window = \"60d\"\ncommand = [\"true\"]\n";
    let told = the_one(&format!("[jobs.j]\n{yearly}"));
    assert!(told.starts_with("1:7 its missed_window is") && told.contains("keep_runs"), "{told}");
    let told = the_one(&format!("[replica]\nkeep_runs = \"90d\"\nkeep_keys = \"2d\"\n[jobs.j]\n{yearly}"));
    assert!(told.contains("a longer keep_keys under [replica]"), "{told}");
    assert_eq!(parse(&format!("[replica]\nkeep_runs = \"90d\"\n[jobs.j]\n{yearly}")).jobs.len(), 1);
    assert!(parse("[replica]\nkeep_runs = \"1m\"\n[jobs.j]\ncommand = [\"true\"]\n").bad_jobs.is_empty(), "nothing to catch up");
}

#[test]
fn a_password_does_not_cross_the_network_in_the_clear_and_check_says_so_already() {
    let mail = |more: &str| format!("[channels.mail]\nkind = \"smtp\"\nfrom = \"a@example.com\"\n{more}");
    let told = the_one(&mail("host = \"mail.example.com\"\ntls = \"none\"\npassword = \"x\"\n"));
    assert!(told.starts_with("5:1 password: it would cross the network in the clear"), "{told}");
    assert!(the_one(&mail("host = \"mail.example.com\"\ntls = \"opportunistic\"\n")).contains("for this host alone"));
    for good in ["host = \"localhost\"\ntls = \"none\"\npassword = \"x\"\n", "host = \"mail.example.com\"\npassword = \"x\"\n"] {
        assert_eq!(parse(&mail(good)).channels.len(), 1);
    }
}

#[test]
fn a_misspelt_kind_is_told_the_right_one() {
    for text in ["[jobs.a]\ncomand = [\"true\"]\n", "[[jobs.a.steps]]\nname = \"x\"\ncomand = [\"true\"]\n"] {
        let all: Vec<String> = problems(text).iter().map(ToString::to_string).collect();
        assert!(all.iter().any(|problem| problem.contains("did you mean \"command\"?")), "{all:?}");
    }
}

#[test]
fn limits_of_a_schedule_are_told_at_their_keys_or_in_their_file() {
    assert!(the_one(&job("schedule = \"0 2 * * *\"\nfrom = \"soon\"")).starts_with("3:1 from \"soon\": not a date with a time"));
    let told = the_one(&job("schedule = \"0 2 * * *\"\nfrom = 2026-12-02\nuntil = 2026-12-01"));
    assert!(told.starts_with("4:1 until: it lies before from"), "{told}");
    assert!(
        the_one(&job("schedule = \"0 2 * * *\"\nexcept = [\"25.12.2026\"]")).starts_with("3:1 except \"25.12.2026\": not a date")
    );
    for time in ["\"2026-12-25T10:00\"", "2026-12-25T10:00:00", "\"2026-12-24..2026-12-25T10:00\""] {
        let told = the_one(&job(&format!("schedule = \"0 2 * * *\"\nexcept = [{time}]")));
        assert!(told.starts_with("3:1 except") && told.contains("not a date"), "a time is no day: {told}");
    }
    assert!(the_one(&job("until = \"2026-12-01\"")).starts_with("2:1 a limit without a schedule"));
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("days.txt"), "2026-12-25 Christmas\nEaster\n").unwrap();
    let text = "[jobs.j]\nschedule = \"0 2 * * *\"\nexcept = { file = \"days.txt\" }\ncommand = [\"true\"]\n";
    let report = JobFile::parse(text, &folder.path().join("onebell.toml")).unwrap_err();
    assert!(report.to_string().contains("days.txt:2:1: file: \"Easter\" is no day; write 2026-12-25"), "{report}");
}

#[test]
fn limits_are_read_from_dates_lines_and_calendars() {
    let folder = TempDir::new().unwrap();
    let calendar =
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227\nEND:VEVENT\nEND:VCALENDAR\n";
    fs::write(folder.path().join("holidays.ics"), calendar).unwrap();
    let text = "[jobs.j]\nschedule = \"0 2 * * *\"\nfrom = 2026-12-01\nuntil = \"2027-01-31T12:00\"\nexcept = { file = \"holidays.ics\" }\ncommand = [\"true\"]\n";
    let file = JobFile::parse(text, &folder.path().join("onebell.toml")).unwrap();
    let limits = &file.jobs[0].limits;
    assert_eq!((limits.from.as_deref(), limits.until.as_deref()), (Some("2026-12-01"), Some("2027-01-31T12:00")));
    assert_eq!(limits.except, ["2026-12-25..2026-12-26"]);
}
