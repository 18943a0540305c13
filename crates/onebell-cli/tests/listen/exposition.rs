//! The text form of Prometheus, as its specification has it: read strictly.

use std::collections::BTreeSet;

/// The names of the families, or the line that breaks the form.
pub(crate) fn read(text: &str) -> Result<BTreeSet<String>, String> {
    let mut families = BTreeSet::new();
    let (mut current, mut kind) = (String::new(), String::new());
    let mut samples = BTreeSet::new();
    for line in text.lines() {
        let wrong = |why: &str| format!("{why}: {line:?}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, _) = rest.split_once(' ').ok_or_else(|| wrong("no help"))?;
            if !families.insert(name.to_owned()) {
                return Err(wrong("a family comes twice"));
            }
            (current, kind) = (name.to_owned(), String::new());
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, found) = rest.split_once(' ').ok_or_else(|| wrong("no type"))?;
            if name != current || !["counter", "gauge"].contains(&found) {
                return Err(wrong("a type out of place"));
            }
            found.clone_into(&mut kind);
        } else {
            let (sample, value) = line.rsplit_once(' ').ok_or_else(|| wrong("no value"))?;
            let value: f64 = value.parse().map_err(|_| wrong("no number"))?;
            let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
            if name != current || kind.is_empty() {
                return Err(wrong("a sample outside its family"));
            }
            if kind == "counter" && (value < 0.0 || !name.ends_with("_total")) {
                return Err(wrong("no counter"));
            }
            if !is_name(name) || !labels.ends_with('}') || !are_labels(labels.trim_end_matches('}')) {
                return Err(wrong("no such names or labels"));
            }
            if !samples.insert(sample.to_owned()) {
                return Err(wrong("a sample comes twice"));
            }
        }
    }
    if text.ends_with('\n') { Ok(families) } else { Err("the last line has no end".to_owned()) }
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn are_labels(labels: &str) -> bool {
    labels.is_empty()
        || labels.split(',').all(|label| {
            label.split_once('=').is_some_and(|(name, value)| {
                is_name(name)
                    && value.len() >= 2
                    && value.starts_with('"')
                    && value.ends_with('"')
                    && !value[1..value.len() - 1].contains('"')
            })
        })
}

#[test]
fn what_breaks_the_form_is_found() {
    let good = "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"y\"} 1\n";
    assert!(read(good).is_ok());
    for (from, to) in
        [("a_total{", "b_total{"), (" 1", " one"), ("\"y\"", "y"), ("counter", "count"), ("# TYPE a_total counter\n", "")]
    {
        assert!(read(&good.replace(from, to)).is_err(), "{from} {to}");
    }
    assert!(read(&good.repeat(2)).is_err() && read(good.trim_end()).is_err());
}
