//! What the history says of the limits of a job file.

use crate::doctor::findings;
use crate::site::{Place, Site};

const BRISK: &str = "[jobs.work]\ncommand = [\"sleep\", \"0.3\"]\ntimeout = \"1m\"\n";

async fn a_timeout_that_is_short_beside_the_history_is_told_with_a_line_to_paste(place: Place) {
    let site = Site::new(place, BRISK).await;
    site.run_once("work", "k");
    let checked = site.onebell(&["check", "--format", "json"]).ended(0).json();
    assert_eq!(
        (&checked["history"], checked["jobs"][0]["steps"][0]["warnings"].as_array().unwrap().len()),
        (&"compared".into(), 0)
    );
    assert!(findings(&site).is_empty());
    site.write("onebell.toml", BRISK.replace("\"1m\"", "\"300ms\""));
    let told = ["its timeout is 300ms", "the last 1 attempts that succeeded", "write timeout = \""];
    site.onebell(&["check"]).ended(0).says(&told);
    assert!(findings(&site).is_empty());
    site.until_idle();
    assert_eq!(findings(&site)[0]["code"], "timeout-short");
    site.onebell(&["doctor"]).ended(3).says(&["job work, step command: its timeout is 300ms"]);
}

crate::everywhere!(a_timeout_that_is_short_beside_the_history_is_told_with_a_line_to_paste);

#[test]
fn a_check_does_not_need_the_database_that_it_would_look_into() {
    let site = Site::plain(BRISK);
    assert_eq!(site.onebell(&["check", "--format", "json"]).ended(0).json()["history"], "not named");
    for away in ["postgres://127.0.0.1:1/none", "sqlite:none.db"] {
        let checked = site.onebell(&["check", "--database", away, "--format", "json"]).ended(0).json();
        assert_eq!(checked["history"], "away", "{away}");
    }
    assert!(!site.path("none.db").exists(), "a look makes no database");
}
