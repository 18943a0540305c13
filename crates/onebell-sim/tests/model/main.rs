//! A model check of the protocols of step, run and message: three replicas, every interleaving within stated budgets of
//! faults. The decisions are the product's own (`onebell::model`); the store's transactions are modelled as atomic, and
//! crashes, freezes, wrong judgements, lapses and calls that are executed late or never are nondeterminism.

mod decide;
mod explore;
mod faults;
mod forget;
mod hands;
mod mark;
mod met;
mod moves;
mod outbox;
mod people;
mod promises;
mod requests;
mod rest;
mod scenario;
mod state;
mod steps;
mod turn;

use explore::explore;
use faults::{Fault, MUTANTS};
use scenario::{ALL, Scenario};

/// Explores everything, and shows what there was. `ONEBELL_MODEL=deep`: with larger budgets of faults.
fn proves(scenario: &Scenario) {
    let deep = std::env::var("ONEBELL_MODEL").is_ok_and(|value| value == "deep");
    let scenario = if deep { Scenario { budget: scenario.deep, loud: true, ..scenario.clone() } } else { scenario.clone() };
    let found = explore(&scenario, usize::MAX);
    println!("| {} | {} | {} | {} | {} |", scenario.name, scenario.budget, found.states, found.transitions, found.depth);
    found.met.iter().for_each(|(what, times)| println!("    {times:>9} {what}"));
    if let Some(((promise, how), history)) = &found.broken {
        let moves: Vec<String> = history.iter().map(|what| format!("    {what:?}")).collect();
        panic!("{}: {promise}: {how}\nafter\n{}", scenario.name, moves.join("\n"));
    }
    assert!(found.complete, "something was left unexplored");
    for what in scenario.meets {
        assert!(found.met.contains_key(what), "{}: {what:?} was never met", scenario.name);
    }
}

#[test]
fn a_step_is_run_again_when_it_is_lost_and_its_effects_happen_once() {
    proves(&scenario::RETRIED);
}

#[test]
fn a_step_claimed_in_advance_is_begun_once() {
    proves(&scenario::PREFETCHED);
}

#[test]
fn a_step_that_is_held_when_lost_is_not_run_twice_without_a_person() {
    proves(&scenario::HELD);
}

#[test]
fn a_chain_succeeds_or_is_undone_as_a_unit() {
    proves(&scenario::CHAIN);
}

#[test]
fn a_message_held_when_in_doubt_arrives_once_and_is_never_hidden() {
    proves(&scenario::DOUBTED);
}

#[test]
fn a_message_arrives_again_only_as_often_as_people_decide() {
    proves(&scenario::DECIDED);
}

#[test]
fn a_message_that_may_be_sent_again_is_delivered_or_fails_openly() {
    proves(&scenario::RESENT);
}

#[test]
fn a_run_that_fails_takes_its_unsent_messages_with_it() {
    proves(&scenario::DROPPED);
}

#[test]
fn a_run_that_is_taken_up_again_waits_for_the_messages_it_had_taken_with_it() {
    proves(&scenario::TAKEN_UP);
}

#[test]
fn what_follows_a_step_waits_for_it_also_when_its_message_goes_out_again() {
    proves(&scenario::FOLLOWED);
}

/// A checker that misses deliberate faults proves nothing.
#[test]
fn every_fault_of_the_model_is_found() {
    let about = std::env::var("ONEBELL_MODEL_ABOUT").unwrap_or_default();
    let mut missed = Vec::new();
    for (faults, promise) in MUTANTS.iter().filter(|(faults, _)| format!("{faults:?}").contains(&about)) {
        // Most are found near the beginning.
        let tries = [6, 11, 16].into_iter().flat_map(|depth| ALL.map(|scenario| (depth, scenario)));
        let found = tries.into_iter().find_map(|(depth, scenario)| {
            let found = explore(&scenario.with(faults), depth);
            found.broken.map(|(broken, history)| (scenario.name, broken, history.len(), found.states))
        });
        match found {
            Some((name, (broken, how), moves, states)) => {
                println!("FOUND {broken} {faults:?} in {moves} moves, {states} states of {name:?}: {how}");
                if broken != *promise {
                    missed.push(format!("{faults:?} breaks {broken}, not {promise}"));
                }
            }
            None => missed.push(format!("{faults:?} is not found")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// What a settlement leaves undone for its run, the sweep finds: there are two lines of defence, and each was tried alone.
#[test]
fn i12_a_run_that_a_settlement_forgot_goes_on_all_the_same() {
    let found = explore(&scenario::RETRIED.with(&[Fault::SettleForgetsRun]), usize::MAX);
    assert_eq!(found.broken, None);
    assert!(found.met.contains_key("a run that stood still goes on"));
}
