//! Histories by seed. `ONEBELL_SIM_SEEDS` says how many, `ONEBELL_SIM_FIRST` from which on.

use onebell_sim::{story, tell};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn seeds_hold() {
    let first = number("ONEBELL_SIM_FIRST", 1);
    let (mut commits, mut turns, mut tally) = (0, 0, onebell_sim::tally::Tally::default());
    for seed in first..first + number("ONEBELL_SIM_SEEDS", 200) {
        let told = tell(&story(seed)).unwrap();
        commits += told.commits;
        turns += told.turns;
        tally.add(&told.tally);
        if let Some(violation) = told.violation {
            let mut again = story(seed);
            again.traced = true;
            let trace = tell(&again).unwrap().trace;
            let tail = trace.len().saturating_sub(60);
            panic!("seed {seed}, turn {}: {violation:?}\n{}", told.turns, trace[tail..].join("\n"));
        }
    }
    println!("{commits} commits checked in {turns} turns");
    tally.iter().for_each(|(name, count)| println!("{count:>8} {name}"));
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 1..=5 {
        let (one, other) = (tell(&story(seed)).unwrap(), tell(&story(seed)).unwrap());
        assert_eq!((one.digest, one.turns, one.commits), (other.digest, other.turns, other.commits));
    }
}

/// Shows the history of `ONEBELL_SIM_FIRST`, lines with `ONEBELL_SIM_ABOUT` only: for whoever looks for the cause.
#[test]
fn a_history_can_be_read() {
    let mut story = story(number("ONEBELL_SIM_FIRST", 1));
    story.traced = true;
    let about = std::env::var("ONEBELL_SIM_ABOUT").unwrap_or_default();
    let told = tell(&story).unwrap();
    assert!(!told.trace.is_empty());
    told.trace.iter().filter(|line| line.contains(&about)).for_each(|line| println!("{line}"));
}
