//! Histories by seed. `ONEBELL_SIM_SEEDS` says how many, `ONEBELL_SIM_FIRST` from which on. They are told on all processors.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use onebell_sim::shrink::shrink;
use onebell_sim::tally::Tally;
use onebell_sim::{story, tell};

/// A line for so many seeds.
const PROGRESS: u64 = 1_000;
/// Lines of a failing history that are shown.
const SHOWN: usize = 60;
/// Tells a process which share of the seeds is its own.
const SHARE: &str = "ONEBELL_SIM_SHARE";
/// What such a process says: how far it has come, how often something was there, which seed fails, and that it is done.
const AT: &str = "at seed ";
const TOLD: &str = "told ";
const BROKEN: &str = "broken ";
const DONE: &str = "done with this share";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

/// Tells the stories of all these seeds: what they were made of, and the first one that broke a promise.
fn tell_all(seeds: impl Iterator<Item = u64>) -> (Tally, Option<u64>) {
    let mut tally = Tally::default();
    for seed in seeds {
        if seed.is_multiple_of(PROGRESS) {
            println!("{AT}{seed}");
        }
        let told = tell(&story(seed)).unwrap();
        tally.add(&told.tally);
        if told.violation.is_some() {
            return (tally, Some(seed));
        }
    }
    (tally, None)
}

fn show(seed: u64) -> ! {
    println!("seed {seed} fails; looking for a shorter history");
    let (story, told) = shrink(&story(seed)).unwrap();
    let tail = told.trace.len().saturating_sub(SHOWN);
    let (violation, turns) = (told.violation.unwrap(), story.draws.len());
    panic!("seed {seed} breaks {}: {}\nafter {turns} turns:\n{}", violation.check, violation.what, told.trace[tail..].join("\n"));
}

/// A processor's share of the seeds, if this is one: its number and how many there are.
fn share() -> Option<(u64, u64)> {
    let text = std::env::var(SHARE).ok()?;
    let (number, of) = text.split_once('/').unwrap();
    Some((number.parse().unwrap(), of.parse().unwrap()))
}

/// A process for each processor: threads of one would wait for SQLite's memory and for each other. What they found is
/// read from their last lines.
#[test]
fn seeds_hold() {
    let (first, count) = (number("ONEBELL_SIM_FIRST", 1), number("ONEBELL_SIM_SEEDS", 200));
    if let Some((share, of)) = share() {
        let (tally, broken) = tell_all((first + share..first + count).step_by(usize::try_from(of).unwrap()));
        tally.iter().for_each(|(name, count)| println!("{TOLD}{count}\t{name}"));
        broken.iter().for_each(|seed| println!("{BROKEN}{seed}"));
        println!("{DONE}");
        return;
    }
    let of = std::thread::available_parallelism().map_or(1, usize::from);
    let shares: Vec<_> = (0..of).map(|share| process(share, of)).collect();
    let (mut tally, mut broken) = (BTreeMap::<String, u64>::new(), None);
    for mut share in shares {
        let mut done = false;
        for line in BufReader::new(share.stdout.take().unwrap()).lines().map(Result::unwrap) {
            if let Some((count, name)) = line.strip_prefix(TOLD).and_then(|told| told.split_once('\t')) {
                *tally.entry(name.to_owned()).or_default() += count.parse::<u64>().unwrap();
            } else if let Some(seed) = line.strip_prefix(BROKEN) {
                let seed: u64 = seed.parse().unwrap();
                broken = Some(broken.map_or(seed, |first: u64| first.min(seed)));
            } else if line.starts_with(AT) {
                println!("{line}");
            }
            done |= line == DONE;
        }
        assert!(share.wait().unwrap().success() && done, "a share of the seeds did not come to its end");
    }
    tally.iter().for_each(|(name, count)| println!("{count:>8} {name}"));
    if let Some(seed) = broken {
        show(seed);
    }
}

fn process(share: usize, of: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "seeds_hold", "--nocapture"]).env(SHARE, format!("{share}/{of}")).stdout(Stdio::piped());
    // The heap of a history is not given back to the system before the next one.
    command.env("MALLOC_TRIM_THRESHOLD_", "268435456").env("MALLOC_TOP_PAD_", "67108864");
    command.spawn().unwrap()
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
    let (tally, _) = tell_all(1..=90);
    for name in [
        "alarm failed",
        "alarm in_doubt",
        "alarm late_finish",
        "alarm overdue",
        "alarm parked",
        "alarm recovered",
        "alarm skipped",
        "asked message",
        "asked step",
        "alarm too_short",
        "attempt cancelled",
        "attempt delivering",
        "attempt exhausted",
        "attempt failed",
        "attempt given_back",
        "attempt lost",
        "attempt overdue",
        "attempt resolved",
        "attempt retry",
        "attempt stopped",
        "attempt succeeded",
        "batch cancelled",
        "batch done",
        "batch given back too late",
        "batch pending",
        "batch taken over",
        "call contended",
        "call lost after",
        "call lost before",
        "call settled together",
        "call slow after",
        "call slow before",
        "chunk repeated",
        "chunk superseded",
        "fault away",
        "fault clocks of a zone are changed",
        "fault crash",
        "fault drain",
        "fault halt",
        "fault jump",
        "fault pause",
        "fault restart",
        "fault restart after a kill",
        "granted message",
        "granted replica",
        "granted step",
        "job edited",
        "late settlement",
        "loader busy",
        "loader crash",
        "loader pause",
        "loader superseded",
        "loader too many rejected",
        "loader withheld",
        "message dropped",
        "message failed",
        "message in_doubt",
        "message pruned",
        "message sending",
        "message sent",
        "record already",
        "record applied",
        "record conflict",
        "record failed",
        "record rejected",
        "replica carries less",
        "replica left",
        "replica lost",
        "run cancelled",
        "run failed",
        "run of a backfill",
        "run parked",
        "run pruned",
        "run queued",
        "run succeeded",
        "run undoing",
        "skip dst-gap",
        "skip missed",
        "skip overlap",
        "skip paused",
        "skip restored",
        "step held uncarried",
        "term taken",
        "work native",
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
