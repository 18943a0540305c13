//! The explorer: breadth first, so that a history that breaks a promise is short. States are told apart by 64 bits of
//! hash; replicas have no names of their own, so that a state and its renamings are one. A state that was reached before
//! with at least as much left to go wrong is not explored again: whatever can follow, followed there.

use std::collections::BTreeMap;

use crate::mark::{Kept, Rested, mark};
use crate::moves::{Move, apply, moves};
use crate::promises::check;
use crate::rest::come_to_rest;
use crate::scenario::{Budget, Scenario};
use crate::state::State;
use crate::turn::{Broken, Ground};

/// What an exploration found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) states: usize,
    pub(crate) transitions: u64,
    /// Moves of the longest history that was needed.
    pub(crate) depth: usize,
    /// Nothing was left to explore.
    pub(crate) complete: bool,
    /// What was met, and how often.
    pub(crate) met: BTreeMap<&'static str, u64>,
    /// The promise that was broken, and a shortest history that breaks it.
    pub(crate) broken: Option<(Broken, Vec<Move>)>,
}

/// Explores everything that can be reached, `depth_max` moves far at most.
pub(crate) fn explore(scenario: &Scenario, depth_max: usize) -> Found {
    let ground = Ground::new(scenario);
    let begin = State::begin(scenario);
    let mut seen = Seen::default();
    let mut rested = Rested::default();
    seen.is_new(&begin, None);
    let (mut layer, mut next, mut all) = (vec![begin], Vec::new(), Vec::new());
    let mut found = Found { states: 1, transitions: 0, depth: 0, complete: false, met: BTreeMap::new(), broken: None };
    'deeper: while !layer.is_empty() && found.depth < depth_max {
        found.depth += 1;
        for state in layer.drain(..) {
            moves(&state, &mut all);
            for what in &all {
                let reached = match apply(&ground, &state, *what) {
                    Ok(Some(reached)) => reached,
                    Ok(None) => continue,
                    Err(broken) => {
                        found.broken = Some((broken, seen.history(&ground, &begin, &state, *what)));
                        break 'deeper;
                    }
                };
                found.transitions += 1;
                if !seen.is_new(&reached, Some(&state)) {
                    continue;
                }
                if let Err(broken) = hold(&ground, scenario, &reached, &mut rested) {
                    found.broken = Some((broken, seen.history(&ground, &begin, &state, *what)));
                    break 'deeper;
                }
                next.push(reached);
            }
        }
        std::mem::swap(&mut layer, &mut next);
        if scenario.loud {
            println!("    {} moves: {} states, {} to go on from", found.depth, seen.before.len(), layer.len());
        }
    }
    found.states = seen.before.len();
    found.complete = layer.is_empty() && found.broken.is_none();
    found.met = ground.met.take();
    found
}

/// All promises in a new state, and that it comes to rest.
fn hold<'a>(ground: &'a Ground<'a>, scenario: &Scenario, state: &State, rested: &mut Rested) -> Result<(), Broken> {
    check(scenario, state)?;
    crate::met::note(ground, state);
    come_to_rest(ground, state, rested)
}

/// What was reached.
#[derive(Default)]
struct Seen {
    /// By mark: what was left to go wrong, none less than another.
    left: Kept<Vec<Budget>>,
    /// By mark and what was left: the one before.
    before: Kept<u64>,
}

impl Seen {
    fn is_new(&mut self, state: &State, from: Option<&State>) -> bool {
        let mark = mark(state);
        let left = self.left.entry(mark).or_default();
        if left.iter().any(|other| other.covers(&state.left)) {
            return false;
        }
        left.retain(|other| !state.left.covers(other));
        left.push(state.left);
        self.before.insert(whole(mark, state), from.map_or(0, |from| whole(crate::mark::mark(from), from)));
        true
    }

    /// The moves that lead to a state, and one more.
    fn history<'a>(&self, ground: &'a Ground<'a>, begin: &State, to: &State, last: Move) -> Vec<Move> {
        let mut marks = vec![whole(mark(to), to)];
        while let Some(before) = self.before.get(&marks[marks.len() - 1]).filter(|before| **before != 0) {
            marks.push(*before);
        }
        let (mut state, mut history, mut all) = (*begin, Vec::new(), Vec::new());
        for wanted in marks.iter().rev().skip(1) {
            moves(&state, &mut all);
            let leads = |what: &Move| {
                apply(ground, &state, *what).ok().flatten().filter(|reached| whole(mark(reached), reached) == *wanted)
            };
            if let Some((what, reached)) = all.iter().find_map(|what| leads(what).map(|reached| (*what, reached))) {
                history.push(what);
                state = reached;
            }
        }
        history.push(last);
        history
    }
}

fn whole(mark: u64, state: &State) -> u64 {
    crate::mark::of((mark, state.left))
}
