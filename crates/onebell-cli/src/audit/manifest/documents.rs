//! A file cut into its documents, so that a broken one breaks no other. A line that begins with `---` is a boundary wherever it
//! stands: no value may hold one.

/// One document of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Document<'t> {
    /// From 1.
    pub(super) number: usize,
    /// The line of the file in which it begins, from 1.
    pub(super) first_line: usize,
    pub(super) text: &'t str,
}

/// More are not read: a file of separators alone is no inventory.
const DOCUMENTS_MAX: usize = 10_000;

pub(super) fn split(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 1, 0);
    let mut number = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_boundary(line) {
            take(&text[start..at], first_line, &mut number, &mut documents);
            (start, first_line) = (at, index + 1);
        }
        at += line.len();
        if documents.len() >= DOCUMENTS_MAX {
            return documents;
        }
    }
    take(&text[start..], first_line, &mut number, &mut documents);
    documents
}

fn is_boundary(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn take<'t>(text: &'t str, first_line: usize, number: &mut usize, documents: &mut Vec<Document<'t>>) {
    let begins = text.starts_with("---");
    let says_something = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line != "---" && line != "..."
    };
    let holds_something = text.lines().any(says_something);
    // Comments in front of the first boundary are no document.
    *number += usize::from(begins || holds_something);
    if holds_something {
        documents.push(Document { number: *number, first_line, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_counted_from_one_and_know_their_first_line() {
        let of = |text| split(text).into_iter().map(|d| (d.number, d.first_line, d.text.trim().to_owned())).collect::<Vec<_>>();
        assert_eq!(of("a: 1\n"), [(1, 1, "a: 1".to_owned())]);
        assert_eq!(
            of("# c\n---\na: 1\n---\n---\nb: |\n  --- x\n"),
            [(1, 2, "---\na: 1".to_owned()), (3, 5, "---\nb: |\n  --- x".to_owned())]
        );
        assert_eq!(of("--- {a: 1}\n---x\n"), [(1, 1, "--- {a: 1}\n---x".to_owned())]);
        assert_eq!(of("\n# nothing\n"), []);
    }
}
