//! Deliberate faults are caught.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use onebell_sim::mutants::{Caught, Mutant, all};
use onebell_sim::{Violation, story, tell};

/// The seed that catches it, and how.
fn caught(mutant: &Mutant, seeds: u64) -> Option<(u64, Violation)> {
    let text = mutant.text();
    (1..=seeds).find_map(|seed| {
        let mut story = story(seed);
        story.mutants = vec![(mutant.statement.to_owned(), text.clone())];
        let violation = tell(&story).unwrap().violation?;
        let nonsense = ["syntax error", "no such", "wants a value", "ambiguous"];
        assert!(!nonsense.iter().any(|word| violation.what.contains(word)), "{}: {violation:?}", mutant.fault);
        Some((seed, violation))
    })
}

#[test]
fn removing_the_fence_fails_within_100_seeds() {
    let fence = all().next().unwrap();
    assert_eq!(fence.statement, "fence_steps");
    assert!(caught(fence, 100).is_some());
}

#[test]
fn every_mutant_is_caught_within_its_seeds() {
    let about = std::env::var("ONEBELL_SIM_ABOUT").unwrap_or_default();
    let mut missed = Vec::new();
    for mutant in all().filter(|mutant| mutant.fault.contains(&about)) {
        let Caught::Within(seeds) = mutant.caught else { continue };
        match caught(mutant, seeds) {
            Some((seed, violation)) => println!("CAUGHT {seed:>4} {:<10} {}: {}", violation.check, mutant.fault, violation.what),
            None => {
                println!("MISSED      {}", mutant.fault);
                missed.push(mutant.fault);
            }
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
