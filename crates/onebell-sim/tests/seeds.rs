//! Histories by seed. `ONEBELL_SIM_SEEDS` says how many, `ONEBELL_SIM_FIRST` from which on. They are told on all processors.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use onebell_sim::shrink::shrink;
use onebell_sim::tally::Tally;
use onebell_sim::{story, tell};

/// Lines of a failing history that are shown.
const SHOWN: usize = 60;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

/// Tells the stories of all these seeds: what they were made of, and the first one that broke a promise.
fn tell_all(first: u64, count: u64) -> (Tally, Option<u64>) {
    let (next, broken) = (AtomicU64::new(first), AtomicU64::new(u64::MAX));
    let tally = Mutex::new(Tally::default());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= (first + count).min(broken.load(Ordering::SeqCst)) {
                        return;
                    }
                    let told = tell(&story(seed)).unwrap();
                    tally.lock().unwrap().add(&told.tally);
                    if told.violation.is_some() {
                        broken.fetch_min(seed, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner();
    (tally.into_inner().unwrap(), (broken != u64::MAX).then_some(broken))
}

fn show(seed: u64) -> ! {
    println!("seed {seed} fails; looking for a shorter history");
    let (story, told) = shrink(&story(seed)).unwrap();
    let tail = told.trace.len().saturating_sub(SHOWN);
    let (violation, turns) = (told.violation.unwrap(), story.draws.len());
    panic!("seed {seed} breaks {}: {}\nafter {turns} turns:\n{}", violation.check, violation.what, told.trace[tail..].join("\n"));
}

#[test]
fn seeds_hold() {
    let (tally, broken) = tell_all(number("ONEBELL_SIM_FIRST", 1), number("ONEBELL_SIM_SEEDS", 200));
    tally.iter().for_each(|(name, count)| println!("{count:>8} {name}"));
    if let Some(seed) = broken {
        show(seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 1..=5 {
        let (one, other) = (tell(&story(seed)).unwrap(), tell(&story(seed)).unwrap());
        assert_eq!((one.digest, one.turns, one.commits), (other.digest, other.turns, other.commits));
    }
}

/// A proof by histories in which nothing happens proves nothing.
#[test]
fn histories_meet_every_fault_and_reach_every_state() {
    let (tally, _) = tell_all(1, 40);
    for name in [
        "attempt cancelled",
        "attempt delivering",
        "attempt exhausted",
        "attempt failed",
        "attempt lost",
        "attempt overdue",
        "attempt resolved",
        "attempt retry",
        "attempt stopped",
        "attempt succeeded",
        "call contended",
        "call lost after",
        "call lost before",
        "call slow after",
        "call slow before",
        "fault away",
        "fault crash",
        "fault jump",
        "fault pause",
        "granted message",
        "granted replica",
        "granted step",
        "job edited",
        "late settlement",
        "message dropped",
        "message failed",
        "message in_doubt",
        "message pruned",
        "message sending",
        "message sent",
        "replica lost",
        "run cancelled",
        "run failed",
        "run parked",
        "run pruned",
        "run queued",
        "run succeeded",
        "run undoing",
        "skip missed",
        "skip overlap",
        "skip paused",
        "term taken",
    ] {
        assert!(tally.of(name) > 0, "{name} never happened");
    }
}

/// Shows the history of `ONEBELL_SIM_FIRST`, only lines with `ONEBELL_SIM_ABOUT`: for whoever looks for a cause.
#[test]
fn a_history_can_be_read() {
    let mut story = story(number("ONEBELL_SIM_FIRST", 1));
    story.traced = true;
    let about = std::env::var("ONEBELL_SIM_ABOUT").unwrap_or_default();
    let told = tell(&story).unwrap();
    assert!(!told.trace.is_empty());
    told.trace.iter().filter(|line| line.contains(&about)).for_each(|line| println!("{line}"));
}
