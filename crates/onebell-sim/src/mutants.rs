//! Deliberate faults: statements of the SQLite store with a condition dropped or a value left out. Each must be caught, by
//! the simulator or by the contract suite. `docs/mutants.md` lists them.

use onebell::store::sqlite::SqliteStore;

/// What catches a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caught {
    /// The simulator, within so many seeds.
    Within(u64),
    /// A test of the contract suite, on SQLite: histories cannot tell it, because another line of defence holds as well.
    Contract(&'static str),
}

/// One deliberate fault.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// What is wrong, in words.
    pub fault: &'static str,
    /// The statement.
    pub statement: &'static str,
    /// Fragments of its text, and what stands there instead.
    pub edits: &'static [(&'static str, &'static str)],
    /// What catches it.
    pub caught: Caught,
}

impl Mutant {
    /// The statement with the fault in it. Every fragment must be there.
    pub fn text(&self) -> String {
        let own = SqliteStore::statements().find(|(name, _)| *name == self.statement);
        let Some((_, own)) = own else { panic!("no statement is named {}", self.statement) };
        self.edits.iter().fold(own.to_owned(), |text, (fragment, instead)| {
            assert!(text.contains(fragment), "{} ({}): {fragment:?} is not there any longer", self.statement, self.fault);
            text.replace(fragment, instead)
        })
    }
}

mod alarms;
mod batches;
mod callbacks;
mod list;
mod restored;

/// All of them, in the order of the list for people.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    list::JOBS.iter().chain(alarms::ALARMS).chain(callbacks::CALLBACKS).chain(restored::RESTORED).chain(batches::BATCHES)
}
