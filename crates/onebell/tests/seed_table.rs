//! The fault table that Onebell began from is printed by an example; here it is run on every database.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::path::PathBuf;
use std::process::Command;

const TABLE: &str = "\
before_write: attempts=2 replay=already effect_count=1
after_write: attempts=2 replay=already effect_count=1
after_commit: attempts=2 replay=already effect_count=1
exhausted=3 exhausted|0 permanent_failed=yes payload_conflict=refused
race: blocked_B_by_A=observed applied/already effect_count=1 sum=100
";

/// The example's program lies beside the folder of the tests' programs.
fn example() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let program = here.parent().and_then(|deps| deps.parent()).unwrap().join("examples/seed-table");
    assert!(program.exists(), "build it first: cargo build -p onebell --example seed-table");
    program
}

fn prints_the_table(url: Option<&str>) {
    let run = Command::new(example()).args(url).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), TABLE, "{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success());
}

#[test]
fn the_seeds_table_holds_on_sqlite() {
    prints_the_table(None);
}

#[tokio::test]
async fn the_seeds_table_holds_on_postgres_15() {
    prints_the_table(Some(&onebell_testkit::fresh_database(15).await.url));
}

#[tokio::test]
async fn the_seeds_table_holds_on_postgres_18() {
    prints_the_table(Some(&onebell_testkit::fresh_database(18).await.url));
}
