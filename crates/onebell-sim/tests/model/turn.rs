//! One move under way: the state that it makes of another, and what an onlooker has to say of it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::decide::Decide;
use crate::faults::Fault;
use crate::scenario::Scenario;
use crate::state::State;

/// A promise that did not hold: the invariant, and how.
pub(crate) type Broken = (&'static str, String);

/// What was met on the way, and how often.
pub(crate) type Met = RefCell<BTreeMap<&'static str, u64>>;

/// What all moves share.
pub(crate) struct Ground<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) decide: Decide<'a>,
    pub(crate) met: Met,
}

/// A move under way.
pub(crate) struct Turn<'a> {
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) s: State,
    pub(crate) broken: Option<Broken>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, decide: Decide::new(scenario), met: Met::default() }
    }

    pub(crate) fn turn(&'a self, state: &State) -> Turn<'a> {
        Turn { ground: self, s: *state, broken: None }
    }
}

impl Turn<'_> {
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.ground.scenario.has(fault)
    }

    /// This must hold; the first promise broken stays.
    pub(crate) fn must(&mut self, promise: &'static str, holds: bool, how: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            self.broken = Some((promise, how()));
        }
    }

    /// Something worth having met.
    pub(crate) fn met(&self, what: &'static str) {
        *self.ground.met.borrow_mut().entry(what).or_default() += 1;
    }
}
