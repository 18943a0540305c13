//! Every dependency, of every platform and feature, under terms that ask for nothing but their text.

use std::process::Command;

use serde_json::Value;

use crate::files;

const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
    "zlib-acknowledgement",
];

/// What cargo says of all packages.
pub(crate) fn metadata() -> Value {
    let ask = |more: &[&str]| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let arguments = ["metadata", "--format-version", "1", "--locked"];
        Command::new(cargo).args(arguments).args(more).current_dir(files::root()).output().expect("cargo metadata")
    };
    // Without a network the first works once everything was fetched; the second fetches what other platforms need.
    let mut answer = ask(&["--offline"]);
    if !answer.status.success() {
        answer = ask(&[]);
    }
    assert!(answer.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&answer.stderr));
    serde_json::from_slice(&answer.stdout).expect("cargo's JSON")
}

pub(crate) fn violations(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(!packages.is_empty(), "cargo names no package");
    let mut found = Vec::new();
    for package in packages {
        let name = format!("{} {}", package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"));
        match package["license"].as_str().map(|text| (text, satisfiable(text))) {
            None => found.push(format!("{name}: states no licence; do without it, or ask its authors")),
            Some((text, None)) => found.push(format!("{name}: cannot read its licence {text:?}")),
            Some((text, Some(false))) => found.push(format!("{name}: {text} is not permissive; do without it")),
            Some((_, Some(true))) => {}
        }
    }
    found
}

/// Whether permissive licences alone satisfy an SPDX expression (or cargo's old `A/B`); none: it is malformed.
fn satisfiable(expression: &str) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let answer = either(&mut words)?;
    words.next().is_none().then_some(answer)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>) -> Option<bool> {
    let mut answer = both(words)?;
    while words.next_if_eq(&"OR").is_some() {
        answer |= both(words)?;
    }
    Some(answer)
}

fn both(words: &mut Words<'_>) -> Option<bool> {
    let mut answer = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        answer &= one(words)?;
    }
    Some(answer)
}

fn one(words: &mut Words<'_>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let answer = either(words)?;
        return (words.next()? == ")").then_some(answer);
    }
    if matches!(word, ")" | "OR" | "AND" | "WITH") {
        return None;
    }
    // An exception only grants more.
    if words.next_if_eq(&"WITH").is_some() {
        words.next()?;
    }
    Some(PERMISSIVE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_satisfied_by_permissive_choices_only() {
        for right in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "MIT OR GPL-3.0-only",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR X) AND ISC",
        ] {
            assert_eq!(satisfiable(right), Some(true), "{right}");
        }
        for wrong in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MIT AND (MPL-2.0 OR LGPL-2.1-only)", "mit"] {
            assert_eq!(satisfiable(wrong), Some(false), "{wrong}");
        }
        for broken in ["", "MIT OR", "(MIT", "MIT Apache-2.0", "AND MIT", "MIT WITH"] {
            assert_eq!(satisfiable(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_package_without_a_licence_is_named() {
        let metadata = serde_json::json!({"packages": [
            {"name": "good", "version": "1.0.0", "license": "ISC"},
            {"name": "silent", "version": "2.0.0", "license": null},
            {"name": "viral", "version": "3.0.0", "license": "AGPL-3.0"},
        ]});
        let found = violations(&metadata);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("silent 2.0.0") && found[1].starts_with("viral 3.0.0"));
    }
}
