//! The example's own job over three replicas, one of them killed, against aiosmtpd.

use std::collections::BTreeSet;

use onebell_cli::smtp::message_id;
use onebell_testkit::until;

use crate::world::{LIMIT, MailServer, Place, World};

const CUSTOMERS: usize = 120;

/// Spreads neighbouring seeds over the whole range (splitmix64).
fn drawn(seed: u64, below: usize) -> usize {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
}

/// The example as `onebell init` writes it, with this mail server and a lease that a test can wait for.
fn adapt(world: &World, port: u16) {
    world.onebell(&["init"]);
    let file = world.path("onebell.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let adapted = text.replace("port = 2525", &format!("port = {port}\ntls = \"none\"")) + "\n[replica]\nlease = \"2s\"\n";
    assert_ne!(text.len() + "\n[replica]\nlease = \"2s\"\n".len(), adapted.len(), "the example names port 2525");
    std::fs::write(file, adapted).unwrap();
}

/// The run's status when it is over or waits for a person.
fn until_it_rests(world: &World, run: &str) -> String {
    let mut status = String::new();
    until("the run is over or parked", LIMIT, || {
        status = world.json(&["show", run])["run"]["status"].as_str().unwrap().to_owned();
        ["succeeded", "parked", "failed"].contains(&status.as_str())
    });
    status
}

/// Keys in doubt with their recipients.
fn in_doubt(world: &World) -> Vec<(String, String)> {
    let listed = world.json(&["outbox", "list", "--status", "in_doubt", "--limit", "1000"]);
    let messages = listed["messages"].as_array().unwrap().iter();
    let read = messages.map(|message| {
        let payload: serde_json::Value = serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
        (message["key"].as_str().unwrap().to_owned(), payload["to"].as_str().unwrap().to_owned())
    });
    read.collect()
}

async fn i9_one_of_three_replicas_is_killed_and_every_customer_has_one_mail(place: Place, seed: u64) {
    let world = World::new(place).await;
    let server = MailServer::start(&world.path(""));
    adapt(&world, server.port);
    let (after, victim) = kill(seed);
    let mut replicas = ["a", "b", "c"].map(|name| world.replica(name));
    until("three replicas carry the job", LIMIT, || {
        world.json(&["status"])["replicas"] == 3 && !world.json(&["jobs"])["jobs"].as_array().unwrap().is_empty()
    });
    let run = world.json(&["trigger", "debt-reminders", "--key", "2026-11"])["run"].as_str().unwrap().to_owned();
    until(&format!("{after} mails have arrived"), LIMIT, || server.count() >= after);
    replicas[victim].kill();

    let status = until_it_rests(&world, &run);
    let doubts = in_doubt(&world);
    assert_eq!(status, if doubts.is_empty() { "succeeded" } else { "parked" }, "seed {seed}");
    let (ids, counts) = server.mails();
    assert!(counts.values().all(|mails| *mails == 1), "seed {seed}: {counts:?}");
    let reached: BTreeSet<&String> = counts.keys().chain(doubts.iter().map(|(_, to)| to)).collect();
    assert_eq!(reached.len(), CUSTOMERS, "seed {seed}: everybody has a mail or is in doubt");

    // A person asks the server: a Message-ID is derived from the key, so it can be looked up.
    for (key, to) in &doubts {
        let arrived = ids.get(&message_id(key, "example.com"));
        assert!(arrived.is_none_or(|arrived| arrived == to));
        world.onebell(&["outbox", "resolve", key, "--as", if arrived.is_some() { "sent" } else { "resend" }]);
    }
    until("the run has succeeded", LIMIT, || until_it_rests(&world, &run) == "succeeded");
    let (ids, counts) = server.mails();
    assert_eq!((ids.len(), counts.len()), (CUSTOMERS, CUSTOMERS), "seed {seed}: {} were in doubt", doubts.len());
    assert!(counts.values().all(|mails| *mails == 1), "seed {seed}: {counts:?}");
    assert_eq!(world.json(&["status"])["outbox"]["sent"], CUSTOMERS);
}

const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// After so many mails, which of the three.
fn kill(seed: u64) -> (usize, usize) {
    (1 + drawn(seed, CUSTOMERS - 1), usize::try_from(seed % 3).unwrap())
}

#[test]
fn the_seeds_kill_each_replica_early_in_the_middle_and_late() {
    assert_eq!(SEEDS.map(kill), [(115, 1), (30, 2), (10, 0), (54, 1)]);
}

/// Instantiates the promise for each seed on each database.
macro_rules! for_each_seed {
    ($($module:ident, $place:expr, $($name:ident, $seed:expr),+;)+) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::i9_one_of_three_replicas_is_killed_and_every_customer_has_one_mail($place, super::SEEDS[$seed]).await;
            })+
        })+
    };
}

for_each_seed! {
    sqlite_every_customer_has_one_mail, crate::world::Place::Sqlite, seed_1, 0, seed_2, 1, seed_3, 2, seed_4, 3;
    postgres_18_every_customer_has_one_mail, crate::world::Place::Postgres(18), seed_1, 0, seed_2, 1, seed_3, 2, seed_4, 3;
}
