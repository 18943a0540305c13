//! How commands answer: tables for people, JSON for programs, and the exit code.

use std::io::Write;
use std::process::ExitCode;

use onebell::model::shown::{acts, shown, shown_lines};
use serde::Serialize;

/// Why a command ended otherwise than well, as an exit code of the contract.
#[derive(Debug)]
pub enum Failure {
    /// 1: the work failed.
    Work(String),
    /// 2: wrong usage, configuration or environment.
    Usage(String),
    /// 3: finished, but with rejections, conflicts or findings.
    Findings(String),
    /// 125: an error of a command that stands before another one, whose own codes are all of them.
    Own(String),
    /// The exit code of a command that was run in between; it said itself what is wrong.
    Exit(u8),
}

impl Failure {
    /// Wrong usage, configuration or environment.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// The same of a command that stands before another one.
    pub fn of_our_own(self) -> Self {
        match self {
            Self::Work(message) | Self::Usage(message) | Self::Findings(message) => Self::Own(message),
            Self::Own(_) | Self::Exit(_) => self,
        }
    }

    /// Writes the message to stderr and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (code, message) = match self {
            Self::Work(message) => (1, message),
            Self::Usage(message) => (2, message),
            Self::Findings(message) => (3, message),
            Self::Own(message) => (125, message),
            Self::Exit(code) => (code, String::new()),
        };
        if !message.is_empty() {
            complain(message);
        }
        ExitCode::from(code)
    }
}

impl From<onebell::store::StoreError> for Failure {
    fn from(error: onebell::store::StoreError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// What a command returns.
pub type Answer = Result<(), Failure>;

/// Writes a line to stdout; a reader that went away is no error. What came from elsewhere and would act there is spelled out.
pub fn line(text: impl AsRef<str>) {
    kept(writeln!(std::io::stdout(), "{}", shown_lines(text.as_ref())));
}

/// Why an answer is not where it should be. A reader that went away wanted no more of it.
static LOST: std::sync::OnceLock<String> = std::sync::OnceLock::new();

fn kept(written: std::io::Result<()>) {
    if let Err(error) = written
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Whether all of the answer was written.
pub fn written() -> Answer {
    kept(std::io::stdout().flush());
    let lost = |error: &String| Err(Failure::Usage(format!("the answer could not be written to standard output: {error}")));
    LOST.get().map_or(Ok(()), lost)
}

/// The same to stderr, as the program's word.
pub fn complain(text: impl AsRef<str>) {
    // Nobody reads stderr: the exit code still tells.
    drop(writeln!(std::io::stderr(), "onebell: {}", shown_lines(text.as_ref())));
}

/// Writes a value as JSON to stdout.
pub fn json(value: &impl Serialize) -> Answer {
    let text = serde_json::to_string_pretty(value).map_err(Failure::usage)?;
    line(harmless(&text));
    Ok(())
}

/// The same JSON for a program, in characters that do nothing to a terminal it is looked at on.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // Line ends stand only between strings, all others that act only in them.
        if acts(c) && c != '\n' {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text
}

/// A table: columns as wide as their widest cell, the last one cut to what the terminal leaves.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With its head.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_uppercase()).collect()] }
    }

    /// Adds a row. Each cell stands on one line, and what would act on a terminal is spelled out.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| shown(&cell.replace(['\n', '\r', '\t'], " "))).into());
    }

    /// Whether there is nothing below the head.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The table as lines, none longer than `width` characters.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let length = |text: &String| text.chars().count();
        let widths: Vec<usize> = (0..columns)
            .map(|column| self.rows.iter().filter_map(|row| row.get(column).map(length)).max().unwrap_or(0))
            .collect();
        self.rows.iter().map(|row| cut(row, &widths, width)).collect()
    }

    /// Writes it to stdout.
    pub fn print(&self) {
        self.lines(terminal_width()).iter().for_each(line);
    }
}

fn cut(row: &[String], widths: &[usize], width: usize) -> String {
    let mut text = String::new();
    for (cell, wide) in row.iter().zip(widths) {
        let gap = wide.saturating_sub(cell.chars().count()) + 2;
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', gap));
    }
    let text = text.trim_end();
    if text.chars().count() <= width {
        text.to_owned()
    } else {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

/// The terminal's width; without a terminal nothing is cut.
pub fn terminal_width() -> usize {
    let stdout = std::io::stdout();
    if !std::io::IsTerminal::is_terminal(&stdout) {
        return usize::MAX;
    }
    rustix::termios::tcgetwinsize(&stdout).map_or(120, |size| usize::from(size.ws_col).max(40))
}

/// An optional cell.
pub fn cell(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_aligns_by_characters_and_fits_the_terminal() {
        let mut table = Table::new(["name", "note"]);
        table.row(["nợ".to_owned(), "a long note that does not fit".to_owned()]);
        let lines = table.lines(20);
        assert_eq!(lines[0], "NAME  NOTE");
        assert_eq!(lines[1], "nợ    a long note t…");
    }

    #[test]
    fn a_cell_is_text_on_one_line_as_wide_as_it_looks() {
        let mut table = Table::new(["name", "note"]);
        table.row(["a\u{1b}[8m\nb".to_owned(), "=1+1".to_owned()]);
        assert_eq!(table.lines(usize::MAX), ["NAME          NOTE", "a\\u{1b}[8m b  =1+1"]);
    }

    #[test]
    fn json_means_the_same_and_does_nothing_to_a_terminal() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}]0;x\u{7}\u{7f}\u{202e}\u{2028}\u{e0041}\n</script>", "ợ": [1] });
        let text = harmless(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(!text.contains(|c| acts(c) && c != '\n') && text.contains("\\udb40\\udc41") && text.contains('ợ'), "{text}");
    }
}
