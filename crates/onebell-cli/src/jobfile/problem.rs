//! What is wrong with a job file: where, what, and what to write instead.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One thing that is wrong, at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// How many characters are meant.
    pub width: usize,
    /// The whole line; empty when the file could not be read.
    pub source_line: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
    /// The job that cannot be used because of it; none: the whole file.
    pub job: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        if self.source_line.is_empty() {
            return Ok(());
        }
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs are kept, so that the caret stands under its place however wide they are shown.
        let pad: String = self.source_line.chars().take(self.column - 1).map(|c| if c == '\t' { c } else { ' ' }).collect();
        write!(f, "\n{margin} |\n{number} | {}\n{margin} | {pad}{}", self.source_line, "^".repeat(self.width.max(1)))
    }
}

/// All that is wrong with a file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for problem in &self.problems {
            write!(f, "{between}{problem}")?;
            between = "\n\n";
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A problem without its file: bytes of the text, what is wrong, what to write.
#[derive(Debug, Clone)]
pub(super) struct Flaw {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) remedy: String,
    /// It is in another file, which the span's value names.
    pub(super) elsewhere: Option<Elsewhere>,
}

/// A line of another file.
#[derive(Debug, Clone)]
pub(super) struct Elsewhere {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) source_line: String,
}

impl Flaw {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { span, message: message.into(), remedy: remedy.into(), elsewhere: None }
    }

    /// The same, named after the key whose value it is.
    pub(super) fn under(mut self, key: &str) -> Self {
        self.message = format!("{key}: {}", self.message);
        self
    }
}

/// The text of a job file, to turn bytes into lines and columns.
pub(super) struct Source<'t> {
    pub(super) path: &'t Path,
    pub(super) text: &'t str,
}

impl Source<'_> {
    pub(super) fn problem(&self, flaw: Flaw, job: Option<&str>) -> Problem {
        let Flaw { span, message, remedy, elsewhere } = flaw;
        let job = job.map(str::to_owned);
        if let Some(Elsewhere { file, line, source_line }) = elsewhere {
            let width = source_line.chars().count();
            return Problem { file, line, column: 1, width, source_line, message, remedy, job };
        }
        let at = self.boundary(span.start);
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let whole = self.text[start..].lines().next().unwrap_or_default();
        let end = self.boundary(span.end).clamp(at, (start + whole.len()).max(at));
        Problem {
            file: self.path.to_owned(),
            line: self.text[..start].matches('\n').count() + 1,
            column: self.text[start..at].chars().count() + 1,
            width: self.text[at..end].chars().count().max(1),
            source_line: whole.to_owned(),
            message,
            remedy,
            job,
        }
    }

    fn boundary(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        (0..=at).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }
}
