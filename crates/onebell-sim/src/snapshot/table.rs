use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// A kind of row, read from the JSON array that `sql` writes for it.
pub trait Row: Sized + fmt::Debug {
    /// From its columns.
    fn of(cells: &Cells) -> Self;
}

/// The columns of one row.
pub struct Cells(Vec<Value>);

impl Cells {
    pub(super) fn text(&self, at: usize) -> String {
        self.opt_text(at).unwrap_or_default()
    }

    pub(super) fn opt_text(&self, at: usize) -> Option<String> {
        self.0.get(at).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn int(&self, at: usize) -> i64 {
        self.opt_int(at).unwrap_or_default()
    }

    pub(super) fn opt_int(&self, at: usize) -> Option<i64> {
        self.0.get(at).and_then(Value::as_i64)
    }

    pub(super) fn yes(&self, at: usize) -> bool {
        self.int(at) != 0
    }
}

/// A row that a commit wrote, changed or removed.
#[derive(Debug)]
pub struct Change<R> {
    /// Its key.
    pub key: String,
    /// Before the commit.
    pub before: Option<Arc<R>>,
    /// After it.
    pub after: Option<Arc<R>>,
}

#[derive(Debug)]
struct Line<R> {
    key: String,
    text: String,
    row: Arc<R>,
}

/// A table, sorted by key.
#[derive(Debug)]
pub struct Table<R> {
    text: String,
    lines: Vec<Line<R>>,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self { text: String::new(), lines: Vec::new() }
    }
}

impl<R: Row> Table<R> {
    /// The row of that key.
    pub fn get(&self, key: &str) -> Option<&Arc<R>> {
        let place = self.lines.binary_search_by(|line| line.key.as_str().cmp(key)).ok()?;
        Some(&self.lines[place].row)
    }

    /// All rows with their keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<R>)> {
        self.lines.iter().map(|line| (line.key.as_str(), &line.row))
    }

    /// The table as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn take(&mut self, text: String) -> Vec<Change<R>> {
        if text == self.text {
            return Vec::new();
        }
        self.text = text;
        let mut changes = Vec::new();
        let mut before = std::mem::take(&mut self.lines).into_iter().peekable();
        for line in self.text.lines() {
            let (key, columns) = line.split_once('\t').unwrap_or((line, "[]"));
            while let Some(gone) = before.next_if(|old| old.key.as_str() < key) {
                changes.push(Change { key: gone.key, before: Some(gone.row), after: None });
            }
            match before.next_if(|old| old.key == key) {
                Some(same) if same.text == columns => self.lines.push(same),
                old => {
                    let row = Arc::new(read::<R>(columns));
                    changes.push(Change { key: key.to_owned(), before: old.map(|old| old.row), after: Some(Arc::clone(&row)) });
                    self.lines.push(Line { key: key.to_owned(), text: columns.to_owned(), row });
                }
            }
        }
        changes.extend(before.map(|gone| Change { key: gone.key, before: Some(gone.row), after: None }));
        changes
    }
}

fn read<R: Row>(columns: &str) -> R {
    let cells: Vec<Value> = serde_json::from_str(columns).unwrap_or_else(|error| panic!("{columns}: {error}"));
    R::of(&Cells(cells))
}
