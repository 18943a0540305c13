//! Unit files: sections, keys, lines that go on, lists that an empty assignment clears.

use super::super::codes;
use super::super::finding::Finding;
use super::super::shown;

/// A unit with its drop-ins behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    section: String,
    key: String,
    value: String,
    line: usize,
}

impl Unit {
    /// The unit, and what of it systemd ignores.
    pub(super) fn read(text: &str) -> (Self, Vec<Finding>) {
        let mut unit = Self::default();
        let mut wrong = Vec::new();
        let mut section = String::new();
        let mut waiting: Option<(usize, String)> = None;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            // A comment does not end a line that goes on.
            if line.trim_start().starts_with(['#', ';']) {
                continue;
            }
            let (number, mut whole) = waiting.take().unwrap_or((index + 1, String::new()));
            if let Some(part) = line.strip_suffix('\\') {
                whole.push_str(part);
                whole.push(' ');
                waiting = Some((number, whole));
                continue;
            }
            whole.push_str(line);
            wrong.extend(unit.line(number, whole.trim(), &mut section));
        }
        if let Some((number, whole)) = waiting {
            wrong.extend(unit.line(number, whole.trim(), &mut section));
        }
        (unit, wrong)
    }

    fn line(&mut self, line: usize, text: &str, section: &mut String) -> Option<Finding> {
        if text.is_empty() {
            return None;
        }
        if let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(section);
            return None;
        }
        match text.split_once('=') {
            Some((key, value)) if !section.is_empty() && !key.trim().is_empty() => {
                let (key, value) = (key.trim_end().to_owned(), value.trim_start().to_owned());
                self.entries.push(Entry { section: section.clone(), key, value, line });
                None
            }
            _ => {
                let start: String = shown(text).chars().take(60).collect();
                Some(codes::UNIT_LINE.says(format!("line {line}: {start:?} is no KEY=VALUE in a section")))
            }
        }
    }

    /// Puts a drop-in behind it.
    pub(super) fn add(&mut self, drop_in: Self) {
        // Lines of another file are no lines of this one.
        self.entries.extend(drop_in.entries.into_iter().map(|entry| Entry { line: 0, ..entry }));
    }

    pub(super) fn has_section(&self, section: &str) -> bool {
        self.entries.iter().any(|entry| entry.section == section)
    }

    /// All values of a key with their lines; an empty one clears those before it.
    pub(super) fn list(&self, section: &str, key: &str) -> Vec<(&str, usize)> {
        let mut values = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.section == section && entry.key == key) {
            if entry.value.is_empty() {
                values.clear();
            } else {
                values.push((entry.value.as_str(), entry.line));
            }
        }
        values
    }

    /// The value that counts, if there is one.
    pub(super) fn last(&self, section: &str, key: &str) -> Option<(&str, usize)> {
        self.list(section, key).pop()
    }

    pub(super) fn flag(&self, section: &str, key: &str) -> bool {
        self.last(section, key)
            .is_some_and(|(word, _)| matches!(word.to_lowercase().as_str(), "1" | "yes" | "y" | "true" | "t" | "on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_comments_are_left_out_and_an_empty_value_clears_the_list() {
        let text = "; c\n[Service]\nExecStart=/a \\\n# in between\n  b\nX=1\nX=\nX=2\nX = 3\nnonsense\n[Timer]\nPersistent=Yes\nOnCalendar=daily \\";
        let (unit, wrong) = Unit::read(text);
        assert_eq!(unit.list("Service", "ExecStart"), [("/a    b", 3)]);
        assert_eq!(unit.list("Service", "X"), [("2", 8), ("3", 9)]);
        assert!(unit.flag("Timer", "Persistent") && !unit.flag("Timer", "WakeSystem"));
        assert_eq!(unit.last("Timer", "OnCalendar"), Some(("daily", 13)));
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].message.starts_with("line 10:"));
    }
}
