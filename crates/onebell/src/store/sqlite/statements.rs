//! The one table through which every statement comes. A simulator may put another text in place of one.

use std::borrow::Cow;

use crate::store::StoreError;

macro_rules! statements {
    ($($name:ident = $file:literal),+ $(,)?) => {
        /// A statement of this store, by the name of its file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Statement { $($name),+ }

        const ALL: &[(&str, &str)] = &[$(($file, include_str!(concat!("sql/", $file, ".sql")))),+];
    };
}

statements! {}

/// The texts in use.
#[derive(Debug, Clone)]
pub(super) struct Statements(Vec<Cow<'static, str>>);

impl Default for Statements {
    fn default() -> Self {
        Self(ALL.iter().map(|(_, text)| Cow::Borrowed(*text)).collect())
    }
}

impl Statements {
    /// Every statement with its own text.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALL.iter().copied()
    }

    pub(super) fn text(&self, statement: Statement) -> &str {
        &self.0[statement as usize]
    }

    /// Puts another text in place of the statement `name`.
    pub(super) fn put(&mut self, name: &str, text: String) -> Result<(), StoreError> {
        let place = ALL.iter().position(|(known, _)| *known == name);
        let place = place.ok_or_else(|| StoreError::broken(format!("no statement is named {name:?}; see store/sqlite/sql")))?;
        self.0[place] = Cow::Owned(text);
        Ok(())
    }
}
