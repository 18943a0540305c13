//! Files and functions that can be read in one sitting. The tables only shrink: what got short enough leaves them,
//! and nothing in them may grow.

use crate::files::File;
use crate::tokens::{Kind, Token, end_of_item, tokens};

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 70;

/// Files that are too long today, with their lines.
pub(crate) const KNOWN_FILES: &[(&str, usize)] = &[];

/// Functions that are too long today, as `file: name`, with their lines.
pub(crate) const KNOWN_FUNCTIONS: &[(&str, usize)] = &[];

pub(crate) fn violations(files: &[File], known_files: &[(&str, usize)], known_functions: &[(&str, usize)]) -> Vec<String> {
    let lengths = files.iter().map(|(path, text)| (path.clone(), text.lines().count())).collect::<Vec<_>>();
    let functions = files.iter().flat_map(|(path, text)| {
        functions(&tokens(text)).into_iter().map(move |(name, lines)| (format!("{path}: {name}"), lines))
    });
    let mut found = ratchet(&lengths, FILE_LINES, known_files, "split it by what it is about");
    found.extend(ratchet(&functions.collect::<Vec<_>>(), FUNCTION_LINES, known_functions, "name its parts"));
    found
}

fn ratchet(lengths: &[(String, usize)], limit: usize, known: &[(&str, usize)], remedy: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (name, lines) in lengths {
        match known.iter().find(|(listed, _)| listed == name) {
            None if *lines > limit => found.push(format!("{name}: {lines} lines, at most {limit}: {remedy}")),
            Some((_, was)) if lines > was => found.push(format!("{name}: grew from {was} to {lines} lines: {remedy}")),
            Some((_, was)) if *lines > limit && lines < was => {
                found.push(format!("{name}: shrank to {lines} lines: write {lines} into tests/house/size.rs"));
            }
            Some(_) if *lines <= limit => found.push(format!("{name}: short enough now: remove it from tests/house/size.rs")),
            _ => {}
        }
    }
    let gone = known.iter().filter(|(name, _)| !lengths.iter().any(|(there, _)| there == name));
    found.extend(gone.map(|(name, _)| format!("{name}: is no more: remove it from tests/house/size.rs")));
    found
}

/// Every function with a body and its lines, signature included. The longest stands for those of one name.
fn functions(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let Some(name) = pair[1].word().filter(|_| pair[0].is_word("fn")) else { continue };
        let end = end_of_item(tokens, index) - 1;
        if tokens[end].kind != Kind::Mark('}') {
            continue;
        }
        let lines = tokens[end].line - tokens[index].line + 1;
        match found.iter_mut().find(|(other, _)| other == name) {
            Some(other) => other.1 = other.1.max(lines),
            None => found.push((name.to_owned(), lines)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<File> {
        vec![("a.rs".to_owned(), text.to_owned())]
    }

    #[test]
    fn a_function_is_measured_by_its_braces_not_by_those_in_strings_and_comments() {
        let text = "fn a<T>(x: [u8; 2]) -> T where T: B {\n let s = \"}\"; // }\n if x { '}' }\n}\nfn b();\nfn c() {}\n";
        assert_eq!(functions(&tokens(text)), [("a".to_owned(), 4), ("c".to_owned(), 1)]);
    }

    #[test]
    fn what_is_too_long_is_found() {
        let long = format!("fn f() {{\n{}}}\n", "x();\n".repeat(FUNCTION_LINES));
        assert_eq!(violations(&file(&long), &[], &[]).len(), 1);
        assert_eq!(violations(&file(&"x!();\n".repeat(FILE_LINES + 1)), &[], &[]).len(), 1);
        assert!(violations(&file(&"x!();\n".repeat(FILE_LINES)), &[], &[]).is_empty());
    }

    #[test]
    fn a_known_exception_may_neither_grow_nor_stay_listed_when_it_is_short_enough() {
        let lines = |n: usize| file(&"x!();\n".repeat(n));
        assert!(violations(&lines(FILE_LINES + 5), &[("a.rs", FILE_LINES + 5)], &[]).is_empty());
        assert!(violations(&lines(FILE_LINES + 6), &[("a.rs", FILE_LINES + 5)], &[])[0].contains("grew"));
        assert!(violations(&lines(FILE_LINES + 4), &[("a.rs", FILE_LINES + 5)], &[])[0].contains("shrank"));
        assert!(violations(&lines(FILE_LINES), &[("a.rs", FILE_LINES + 5)], &[])[0].contains("remove it"));
        assert!(violations(&[], &[("a.rs", FILE_LINES + 5)], &[])[0].contains("is no more"));
    }
}
