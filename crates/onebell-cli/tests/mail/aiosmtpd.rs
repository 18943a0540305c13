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
    let (after, victim) = (1 + drawn(seed, CUSTOMERS - 1), drawn(seed + 1000, 3));
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

/// Kills after 23, 34, 72 and 106 mails, of different replicas.
#[test]
fn the_seeds_kill_different_replicas_early_and_late() {
    let draws: Vec<(usize, usize)> = SEEDS.map(|seed| (1 + drawn(seed, CUSTOMERS - 1), drawn(seed + 1000, 3))).to_vec();
    assert!(draws.iter().any(|(after, _)| *after < 40) && draws.iter().any(|(after, _)| *after > 80), "{draws:?}");
    assert_eq!(draws.iter().map(|(_, victim)| victim).collect::<BTreeSet<_>>().len(), 3, "{draws:?}");
}

const SEEDS: [u64; 4] = [1, 2, 3, 4];

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_one_of_three_replicas_is_killed_and_every_customer_has_one_mail() {
    for seed in SEEDS {
        i9_one_of_three_replicas_is_killed_and_every_customer_has_one_mail(Place::Sqlite, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_one_of_three_replicas_is_killed_and_every_customer_has_one_mail() {
    for seed in SEEDS {
        i9_one_of_three_replicas_is_killed_and_every_customer_has_one_mail(Place::Postgres(18), seed).await;
    }
}
