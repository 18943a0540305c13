//! The examples of the folder `examples` that apply events, as their READMEs tell people to try them.

use std::path::Path;

use serde_json::{Value, json};

use crate::site::{Place, Site};

super::everywhere!(
    a_banks_statements_are_booked_once_whoever_loads_them,
    a_source_of_orders_that_fails_is_tried_again_alone_and_nothing_is_recorded_twice,
);

impl Site {
    /// A copy of an example, over a database of its own.
    async fn example(place: Place, name: &str) -> Self {
        let site = Self::new(place, "").await;
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name), site.folder());
        // A slot of the clock would only make a run beside those that are counted.
        let lines = site.lines("onebell.toml");
        site.write(
            "onebell.toml",
            lines.into_iter().filter(|line| !line.starts_with("schedule = ")).collect::<Vec<_>>().join("\n"),
        );
        site.onebell(&["check"]).ended(0);
        site
    }

    fn effects(&self, scope: &str) -> (Value, Value, Value) {
        let mut answer = self.onebell(&["effects", "--scope", scope, "--format", "json"]).ended(0).json();
        (answer["count"].take(), answer["total"].take(), answer["failed"].take())
    }

    /// Of each batch of the scope: the end of its source's name, and what became of its records.
    fn readings(&self, scope: &str) -> Vec<(String, [u64; 5])> {
        let listed = self.onebell(&["batches", "--scope", scope, "--format", "json"]).ended(0).json();
        let reading = |batch: &Value| {
            assert_eq!(batch["status"], "done", "{batch}");
            let counts = ["applied", "already", "conflicts", "rejected", "failed"].map(|count| batch[count].as_u64().unwrap());
            let source = batch["source"].as_str().unwrap();
            let name = if source.starts_with('/') { source.rsplit('/').next() } else { source.rsplit('.').next() };
            (name.unwrap().to_owned(), counts)
        };
        let mut all: Vec<_> = listed["batches"].as_array().unwrap().iter().map(reading).collect();
        all.sort();
        all
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Name and attempts of each step.
fn attempts(shown: &Value) -> Vec<(String, usize)> {
    let steps = shown["steps"].as_array().unwrap().iter();
    steps.map(|step| (step["name"].as_str().unwrap().to_owned(), step["attempts"].as_array().unwrap().len())).collect()
}

async fn a_banks_statements_are_booked_once_whoever_loads_them(place: Place) {
    let site = Site::example(place, "bank-statement").await;
    let booked = async || {
        let balances = site.sql("SELECT account, cents FROM balances ORDER BY account").await.concat();
        let sums = site.sql("SELECT account, sum(cents) FROM bookings GROUP BY account ORDER BY account").await.concat();
        assert_eq!(balances, sums, "a balance is the sum of its bookings");
        (balances.join(" "), site.effects("bookings"))
    };
    let expected = ("DE02-1001 66010 DE02-2002 30049".to_owned(), (json!(5), json!("96059"), json!(0)));
    site.run_once("bank-statement", "monday");
    assert_eq!(booked().await, expected);
    let first = [("2026-11-16.csv".to_owned(), [3, 0, 0, 1, 0]), ("2026-11-17.csv".to_owned(), [2, 1, 0, 0, 0])];
    assert_eq!(site.readings("bookings"), first);
    site.run_once("bank-statement", "tuesday");
    assert_eq!(booked().await, expected, "collected again");
    let by_hand = "apply in/*.csv --delimiter ; --scope bookings --id account,entry --amount amount --scale 2 --sql booking.sql";
    let mut typed: Vec<&str> = by_hand.split(' ').collect();
    typed.extend(["--rejects", "rejects.csv"]);
    site.onebell(&typed).ended(3).says(&["5 effects in all, total 96059"]);
    assert_eq!(booked().await, expected, "applied by hand");
    // What was rejected is mended, and then booked like any other.
    let rejects = site.read("rejects.csv");
    assert_eq!((rejects.lines().count(), rejects.contains(";1.234,56;")), (2, true), "{rejects}");
    site.write("rejects.csv", rejects.replace("1.234,56", "1234.56"));
    site.onebell(&[&["apply", "rejects.csv"], &typed[2..typed.len() - 2]].concat()).ended(0);
    let mended = ("DE02-1001 189466 DE02-2002 30049".to_owned(), (json!(6), json!("219515"), json!(0)));
    assert_eq!(booked().await, mended);
}

async fn a_source_of_orders_that_fails_is_tried_again_alone_and_nothing_is_recorded_twice(place: Place) {
    let site = Site::example(place, "order-events").await;
    std::fs::rename(site.path("partner/today.ndjson"), site.path("away")).unwrap();
    site.until_idle();
    let run = site.onebell(&["trigger", "order-events", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    let replica = site.replica("one");
    let show = || site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    site.until("the partner was asked in vain and the others are through", || {
        let listed = site.onebell(&["batches", "--format", "json"]).ended(0).json();
        let asked = attempts(&show()).iter().any(|(name, times)| name == "partner" && *times >= 1);
        let done = listed["batches"].as_array().unwrap().iter().filter(|batch| batch["status"] == "done").count();
        asked && done == 3
    });
    std::fs::rename(site.path("away"), site.path("partner/today.ndjson")).unwrap();
    let shown = site.until_status(&run, "succeeded");
    for (name, times) in attempts(&shown) {
        assert_eq!(times > 1, name == "partner", "{name}: {times}");
    }
    assert!(replica.stop().success());
    let once = [
        ("2026-11-16.ndjson".to_owned(), [1, 0, 0, 0, 1]),
        ("2026-11-16.ndjson.gz".to_owned(), [2, 0, 0, 0, 0]),
        ("2026-11-17.ndjson".to_owned(), [2, 0, 0, 0, 0]),
        ("partner".to_owned(), [1, 1, 0, 0, 0]),
    ];
    let readings = site.readings("orders");
    assert_eq!(readings.iter().map(|(name, _)| name).collect::<Vec<_>>(), once.iter().map(|(name, _)| name).collect::<Vec<_>>());
    // Which of the shop and the partner told of their common order first is the database's to say.
    let sum = |readings: &[(String, [u64; 5])]| {
        readings.iter().fold([0; 5], |all, (_, one)| std::array::from_fn(|at| all[at] + one[at]))
    };
    assert_eq!(sum(&readings), sum(&once), "each source was read once");
    assert_eq!(site.effects("orders"), (json!(6), json!("31739"), json!(1)));
    site.run_once("order-events", "again");
    assert_eq!(site.effects("orders"), (json!(6), json!("31739"), json!(1)), "collected again");
    assert_eq!(sum(&site.readings("orders"))[1..], [8, 0, 0, 2], "the second run applied nothing");
}
