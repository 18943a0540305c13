//! One file of TOML: its text, its tables, and what is wrong with it outside of its jobs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::DeTable;

use super::fields::{Fields, Flaws};
use super::keys::Table;
use super::problem::{Flaw, Problem, Source};
use super::syntax;

/// A file that is being read.
pub(super) struct Document<'t> {
    pub(super) source: Source<'t>,
    table: Spanned<DeTable<'t>>,
    described: &'static Table,
    pub(super) flaws: Flaws,
    /// Jobs that are defined twice in it.
    pub(super) twice: BTreeMap<String, Vec<Flaw>>,
}

impl<'t> Document<'t> {
    /// Reads the tables of `text`; at the top it may have the keys that are described.
    pub(super) fn new(path: &'t Path, text: &'t str, described: &'static Table) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        let found = syntax::sorted(&errors, text);
        let flaws = Flaws::default();
        found.file.into_iter().for_each(|flaw| flaws.push(flaw));
        Self { source: Source { path, text }, table, described, flaws, twice: found.jobs }
    }

    /// Its top level.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields::new(self.table.get_ref(), self.described, 0..0, &self.flaws)
    }

    /// What is wrong outside of the jobs, in the order of the file.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.flaws.drain().into_iter().map(|flaw| self.source.problem(flaw, None)).collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }

    /// `file:line`, for people.
    pub(super) fn place(&self, at: &Range<usize>) -> String {
        let before = self.source.text.get(..at.start).unwrap_or_default();
        format!("{}:{}", self.source.path.display(), before.matches('\n').count() + 1)
    }
}
