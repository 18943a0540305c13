//! Wrong use: the place and the remedy, and nothing left.

use crate::site::Site;

const FEW: [&str; 6] = ["--kills", "0", "--pauses", "0", "--runs", "1"];
const NEEDS_A_TABLE: &str = "[jobs.sum]\nsql = \"SELECT sum(cents) FROM debts\"\n";

/// Exit code 2, with these words.
#[track_caller]
fn refused(site: &Site, args: &[&str], words: &[&str]) {
    let answer = site.chaos(args);
    assert_eq!((answer.code, answer.stdout.contains('{')), (Some(2), false), "{}\n{}", answer.stdout, answer.stderr);
    for word in words {
        assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
    }
    assert_eq!(site.leftovers().len(), 0, "{args:?}");
}

#[test]
fn a_database_of_the_users_own_is_refused() {
    let site = Site::new(NEEDS_A_TABLE);
    refused(&site, &["--database", "sqlite:own.db"], &["never works in a database of yours", "leave out --database"]);
    refused(&site, &["--database", "mysql://x"], &["postgres://"]);
    assert!(!site.path("own.db").exists());
}

#[test]
fn a_file_name_that_is_no_text_is_a_file_name() {
    use std::os::unix::ffi::OsStrExt as _;
    let site = Site::new("[jobs.j]\ncommand = [\"true\"]\n");
    let name = std::ffi::OsStr::from_bytes(b"own\xff.toml");
    std::fs::rename(site.path("onebell.toml"), site.path("").join(name)).unwrap();
    let output = site.command(&["--setup", "none.sql", "-f"]).arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_job_that_fails_by_itself_is_told_as_the_jobs_own_fault_and_tables_come_from_setup() {
    let site = Site::new(NEEDS_A_TABLE);
    refused(&site, &FEW, &["step \"sql\" of job \"sum\" fails by itself", "no such table: debts", "--setup FILE.sql"]);
    std::fs::write(site.path("setup.sql"), "CREATE TABLE debts (cents INTEGER); INSERT INTO debts VALUES (5);").unwrap();
    site.json(0, &[&FEW[..], &["--setup", "setup.sql"]].concat());
    std::fs::write(site.path("setup.sql"), "CREATE TABLE (").unwrap();
    refused(&site, &[&FEW[..], &["--setup", "setup.sql"]].concat(), &["--setup", "syntax error"]);
    refused(&site, &["--setup", "none.sql"], &["--setup none.sql"]);
}

#[test]
fn rows_for_a_step_that_does_not_exist_or_that_are_no_rows_are_refused() {
    let site = Site::new("[jobs.j]\ncommand = [\"true\"]\n");
    std::fs::write(site.path("rows"), "[1]").unwrap();
    refused(&site, &["--rows", "command"], &["write STEP=FILE"]);
    refused(&site, &["--rows", "command=rows"], &["row 1 is no JSON object"]);
    std::fs::write(site.path("rows"), "{}").unwrap();
    refused(&site, &["--rows", "other=rows"], &["no command step of that name"]);
}

#[test]
fn a_job_file_that_check_refuses_is_refused_here_and_one_without_jobs_too() {
    refused(&Site::new("[jobs.j]\ncommand = \"a b\"\n"), &FEW, &["onebell.toml", "write [\"a\", \"b\"]"]);
    refused(&Site::new(""), &FEW, &["no job"]);
}

#[test]
fn fewer_kills_than_phases_leave_findings() {
    let site = Site::new("[jobs.j]\ncommand = [\"true\"]\n");
    let report = site.json(3, &["--kills", "1", "--pauses", "0", "--runs", "2", "--seed", "1"]);
    assert_eq!(report["violations"], serde_json::json!([]), "{report:#}");
    assert_eq!(report["findings"][0]["code"], "phase-never-hit", "{report:#}");
    assert!(report["findings"][0]["remedy"].as_str().unwrap().contains("--kills 8"), "{report:#}");
}
