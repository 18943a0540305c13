//! Names that a job file takes, each once.

use std::collections::BTreeSet;

use super::super::command::slug;

/// The names that were given.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: BTreeSet<String>,
}

impl Names {
    /// The name itself where it is plain, else what is left of it; with a number where it was given before.
    pub(super) fn of(&mut self, wanted: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let wanted =
            if !wanted.is_empty() && wanted.len() <= 60 && wanted.chars().all(plain) { wanted.to_owned() } else { slug(wanted) };
        let wanted = if wanted.is_empty() { "job".to_owned() } else { wanted };
        let mut name = wanted.clone();
        let mut number = 1;
        // Two names that differ in case alone are one to many a reader.
        while !self.given.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_each_is_given_once() {
        let mut names = Names::default();
        let given = ["a.b", "A.B", "nợ tháng", "", "\u{202e}", "x@.service"].map(|wanted| names.of(wanted));
        assert_eq!(given, ["a.b", "A.B-2", "n-th-ng", "job", "job-2", "x-service"]);
    }
}
