//! Several files of events, one of which cannot be read; and one that was read wrongly at first.

use serde_json::json;

use crate::site::{Place, Site};

crate::everywhere!(one_file_that_cannot_be_read_stops_none_of_the_others);

/// In the order of their names: one whose name says no format, one without the column, a good one, one with a torn row, a good one.
const FILES: [(&str, &str); 5] = [
    ("in/a.unknown", "event_id\nE0\n"),
    ("in/b.csv", "id,amount\nE1,1\n"),
    ("in/c.csv", "event_id\nE2\n"),
    ("in/d.csv", "event_id\nE3\nE3,too,many\n"),
    ("in/e.csv", "event_id\nE4\n"),
];

const TWO: &str = "2 applied, 0 already, 0 conflicts, 0 rejected, 0 failed";

async fn one_file_that_cannot_be_read_stops_none_of_the_others(place: Place) {
    let jobs = "[jobs.load]\nretry = { attempts = 1 }\n[jobs.load.apply]\nfile = \"in/*.csv\"\nscope = \"s\"\nid = \"event_id\"\n\
        max_rejected = 0\n";
    let site = Site::new(place, jobs).await;
    std::fs::create_dir(site.path("in")).unwrap();
    for (file, text) in FILES {
        site.write(file, text);
    }
    let effects = |scope| site.onebell(&["effects", "--scope", scope, "--format", "json"]).ended(0).json()["count"].clone();
    let run = site.run_once("load", "1");
    let told = ["b.csv", "no column \"event_id\"", "d.csv", "1 records were rejected"];
    site.onebell(&["show", &run]).ended(0).says(&told);
    let step = site.onebell(&["show", &run, "--format", "json"]).ended(0).json()["steps"][0].clone();
    assert_eq!((&step["status"], &step["attempts"][0]["summary"]), (&json!("failed"), &json!(TWO)), "{step:#}");
    assert_eq!(effects("s"), json!(3), "the chunk with E3 was kept before its torn row was counted");
    std::os::unix::fs::symlink("nowhere", site.path("in/f.csv")).unwrap();
    let typed = ["apply", "in/*", "--scope", "t", "--id", "event_id", "--max-rejected", "0", "--rejects", "left.csv"];
    site.onebell(&typed).ended(2).complains(&told).complains(&["a.unknown", "--input", "f.csv is a link that leads nowhere"]);
    assert_eq!(effects("t"), json!(3));
    let typed = ["apply", "in/c.csv", "gone.csv", "in/e.csv", "--scope", "u", "--id", "event_id", "--format", "json"];
    let told = site.onebell(&typed).ended(2).complains(&["gone.csv"]).json();
    assert_eq!((&told["applied"], told["batches"].as_array().map(Vec::len)), (&json!(2), Some(3)), "{told}");
    for file in ["in/b.csv", "in/d.csv", "in/f.csv"] {
        std::fs::remove_file(site.path(file)).unwrap();
    }
    site.onebell(&["retry", &run]).ended(0);
    site.until_idle();
    assert_eq!(site.the_run()["status"], "succeeded", "{}", site.onebell(&["show", &run]).out());
    assert_eq!(effects("s"), json!(3));
}

#[test]
fn a_slip_of_the_pen_binds_no_later_reading() {
    let site = Site::plain("");
    site.write("one.csv", "event_id\nE1\n");
    let apply = |id| site.onebell(&["apply", "one.csv", "--scope", "s", "--id", id, "--database", "sqlite:x.db"]);
    apply("evnt_id").ended(2).complains(&["no column \"evnt_id\""]);
    apply("event_id").ended(0).says(&["1 effects in all"]);
}
