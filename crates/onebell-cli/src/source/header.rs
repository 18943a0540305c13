//! The header line of a CSV file: everything that would make each of its rows wrong is told before the first of them.

use onebell::model::record::{Columns, ColumnsError, Shape};

/// The columns that a header names. `names` is what was between the delimiters.
pub(super) fn columns(names: Vec<String>, delimiter: u8, shape: &Shape) -> Result<Columns, String> {
    if let [only] = names.as_slice()
        && let Some(better) = other_delimiter(only, delimiter)
    {
        return Err(format!(
            "the header has one column, {only:?}; if its columns are apart by another delimiter: --delimiter '{better}'"
        ));
    }
    if let Some(at) = names.iter().position(|name| name.trim().is_empty()) {
        return Err(format!("column {} has no name; give it one in the header line", at + 1));
    }
    if let Some(at) = names.iter().position(|name| name.contains('\0')) {
        return Err(format!("the name of column {} has a NUL; remove it", at + 1));
    }
    let folded: Vec<String> = names.iter().map(|name| name.trim().to_lowercase()).collect();
    for (at, name) in folded.iter().enumerate() {
        if let Some(first) = folded[..at].iter().position(|before| before == name) {
            let (first, second) = (first + 1, at + 1);
            return Err(format!("column {:?} appears twice ({first}, {second}); rename one", names[at]));
        }
    }
    let there = names.clone();
    Columns::new(names, shape).map_err(|error| match error {
        ColumnsError::Missing(wanted) => missing(&wanted, &there),
        ColumnsError::Twice(_) => error.to_string(),
    })
}

fn other_delimiter(only: &str, delimiter: u8) -> Option<&'static str> {
    let others: &[(char, &str)] = if delimiter == b',' { &[(';', ";"), ('\t', "\\t")] } else { &[(',', ",")] };
    others.iter().find(|(found, _)| only.contains(*found)).map(|(_, written)| *written)
}

fn missing(wanted: &str, names: &[String]) -> String {
    let listed = names.iter().take(50).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let near = |name: &String| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let nearest = names.iter().map(|name| (near(name), name)).max_by(|one, two| one.0.total_cmp(&two.0));
    let hint = match nearest {
        Some((likeness, name)) if likeness > 0.75 => format!("; is it {name:?}?"),
        _ => String::new(),
    };
    format!("the header has no column {wanted:?}; it has {listed}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(names: &[&str], delimiter: u8) -> String {
        let shape = Shape { id: vec!["event_id".to_owned()], amount: None, fail_if: None };
        columns(names.iter().map(|name| (*name).to_owned()).collect(), delimiter, &shape).unwrap_err()
    }

    #[test]
    fn what_is_wrong_with_a_header_is_told_before_any_row() {
        assert!(wrong(&["event_id", "amount", "amount"], b',').starts_with("column \"amount\" appears twice (2, 3)"));
        assert!(wrong(&["Amount ", "amount", "event_id"], b',').starts_with("column \"amount\" appears twice (1, 2)"));
        assert!(wrong(&["event_id", "", "amount"], b',').starts_with("column 2 has no name"));
        assert!(wrong(&["event_id;amount"], b',').ends_with("--delimiter ';'"));
        assert!(wrong(&["event_id\tamount"], b',').ends_with("--delimiter '\\t'"));
        assert!(wrong(&["event_id,amount"], b';').ends_with("--delimiter ','"));
        assert_eq!(
            wrong(&["eventid", "amount"], b','),
            "the header has no column \"event_id\"; it has \"eventid\", \"amount\"; is it \"eventid\"?"
        );
        assert_eq!(wrong(&["x"], b','), "the header has no column \"event_id\"; it has \"x\"");
    }
}
