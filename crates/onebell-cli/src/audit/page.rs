//! The table of all findings in docs/audit.md.

use std::fmt::Write;

use super::codes;

/// Every kind of finding as Markdown, by what it answers.
pub fn page() -> String {
    let mut page = String::new();
    // Writing into a string cannot fail.
    for (question, kinds) in codes::ALL {
        _ = write!(page, "### {question}\n\n| code | | why | what to do |\n|---|---|---|---|\n");
        for code in *kinds {
            let cell = |text: &str| text.replace('|', "\\|");
            _ = writeln!(page, "| `{}` | {} | {} | {} |", code.word, code.severity.as_str(), cell(code.why), cell(code.fix));
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::codes;

    #[test]
    fn every_kind_of_finding_is_listed_once() {
        let sources = [
            include_str!("codes/questions.rs"),
            include_str!("codes/due.rs"),
            include_str!("codes/crontab.rs"),
            include_str!("codes/manifest.rs"),
            include_str!("codes/units.rs"),
        ];
        let defined: BTreeSet<&str> =
            sources.iter().flat_map(|text| text.split("word: \"").skip(1)).filter_map(|rest| rest.split('"').next()).collect();
        let listed: Vec<&str> = codes::ALL.iter().flat_map(|(_, kinds)| kinds.iter().map(|code| code.word)).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), defined);
        assert_eq!(listed.len(), defined.len());
    }
}
