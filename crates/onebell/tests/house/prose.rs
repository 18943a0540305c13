//! The repository's text means the same to everybody: no path of one machine, no address of a package registry.

use crate::files::File;

/// Written in halves, so that this file passes its own test.
const FOREIGN: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("crates", ".io"),
    concat!("py", "pi.org"),
    concat!("pythonhosted", ".org"),
    concat!("deb.deb", "ian.org"),
    concat!("security.deb", "ian.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("proxy.go", "lang.org"),
];

pub(crate) fn violations(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            found.extend(FOREIGN.iter().filter(|part| lower.contains(**part)).map(|part| {
                format!("{path}:{}: {part:?} means nothing outside one machine or names a registry: leave it out", index + 1)
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_foreign_word_is_found_with_its_line() {
        for part in FOREIGN {
            let text = format!("good\nsee {}x\n", part.to_uppercase());
            let found = violations(&[("a.md".to_owned(), text)]);
            assert!(found.len() == 1 && found[0].starts_with("a.md:2:"), "{part}: {found:?}");
        }
        assert!(violations(&[("a.md".to_owned(), "the work is in /tmp/work and /home".to_owned())]).is_empty());
    }
}
