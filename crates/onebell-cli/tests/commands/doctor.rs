//! What `doctor` says of the database.

use serde_json::Value;

use crate::site::{Place, Site};

const JOB: &str = "[jobs.work]\ncommand = [\"true\"]\n";

/// What it finds, but that the tests' servers do not wait for their disks.
pub(crate) fn findings(site: &Site) -> Vec<Value> {
    let all = site.onebell(&["doctor", "--format", "json"]).json()["findings"].as_array().unwrap().clone();
    all.into_iter().filter(|finding| finding["code"] != "not-durable").collect()
}

async fn the_database_is_named_with_how_it_keeps_what_it_says(place: Place) {
    let site = Site::new(place, JOB).await;
    site.run_once("work", "k");
    let all = site.onebell(&["doctor", "--format", "json"]).json();
    assert!(findings(&site).is_empty(), "{all}");
    let (database, lines) = (&all["database"], site.onebell(&["doctor"]).out());
    match place {
        Place::Sqlite => {
            assert_eq!((&database["kind"], &database["journal_mode"]), (&"sqlite".into(), &"wal".into()), "{all}");
            assert!(database["bytes"].as_u64().unwrap() > 0 && database["space_bytes"].as_u64().unwrap() > 0);
            assert!(lines.contains("SQLite 3.") && lines.contains("journal wal; this program waits for the disk"), "{lines}");
        }
        Place::Postgres(version) => {
            assert_eq!(
                (&database["major"], &database["standby"], &database["pooler"]),
                (&version.into(), &false.into(), &false.into())
            );
            assert!(lines.contains(&format!("PostgreSQL {version}")) && lines.contains("no synchronous standby"), "{lines}");
            // The finding is there exactly when the setting is so.
            let off = database["fsync"] == "off";
            let told = site.onebell(&["doctor"]).ended(if off { 3 } else { 0 }).out();
            assert_eq!(told.contains("fsync is off: when the host fails"), off, "{told}");
        }
    }
}

/// Whatever opens a database to work brings its schema up; a look says that it is older, and leaves it so.
async fn an_older_schema_is_told_and_left_as_it_is(place: Place) {
    let site = Site::new(place, JOB).await;
    site.run_once("work", "k");
    site.sql("DROP TABLE {}callbacks").await;
    site.sql("DELETE FROM {}schema WHERE version = (SELECT max(version) FROM {}schema)").await;
    for _ in 0..2 {
        let told = site.onebell(&["doctor", "--format", "json"]).ended(3).json();
        assert_eq!(
            (&told["findings"][0]["code"], told["findings"].as_array().unwrap().len()),
            (&"schema-older".into(), 1),
            "{told}"
        );
    }
    site.onebell(&["doctor"]).ended(3).says(&["the database's schema lacks 0004", "onebell migrate"]);
    site.onebell(&["migrate"]).ended(0);
    assert!(findings(&site).is_empty());
}

crate::everywhere!(an_older_schema_is_told_and_left_as_it_is, the_database_is_named_with_how_it_keeps_what_it_says);

#[test]
fn a_database_that_is_not_there_is_not_made_to_be_looked_at() {
    let site = Site::plain(JOB);
    site.onebell(&["doctor"]).ended(2).complains(&["there is no database yet", "onebell migrate"]);
    assert!(!site.path("onebell.db").exists());
    site.onebell(&["doctor", "--database", "postgres://127.0.0.1:1/none"]).ended(2).complains(&["the store is away"]);
}
