//! One statement per file, the same names in both backends' folders, so that they are read side by side.

use crate::files::{self, File};

/// Statements that only one database needs, as (`sqlite` or `postgres`, file, reason).
pub(crate) const ONE_SIDED: &[(&str, &str, &str)] = &[];

/// A backend's statements by file name below `sql/`; none while there is no such backend.
pub(crate) fn of(backend: &str) -> Option<Vec<File>> {
    let store = "crates/onebell/src/store";
    let there =
        files::root().join(format!("{store}/{backend}.rs")).exists() || files::root().join(format!("{store}/{backend}")).exists();
    let folder = format!("{store}/{backend}/sql/");
    let names = files::all(&folder).into_iter().filter(|(path, _)| path.ends_with(".sql"));
    there.then(|| names.map(|(path, text)| (path[folder.len()..].to_owned(), text)).collect())
}

pub(crate) fn violations(
    sqlite: &Option<Vec<File>>,
    postgres: &Option<Vec<File>>,
    one_sided: &[(&str, &str, &str)],
) -> Vec<String> {
    let mut found = Vec::new();
    for (backend, here, there) in [("sqlite", sqlite, postgres), ("postgres", postgres, sqlite)] {
        for (name, text) in here.iter().flatten() {
            let header = text.lines().next().and_then(|line| line.strip_prefix("-- "));
            if header.is_none_or(|header| header.trim().len() < 4) {
                found.push(format!("{backend}/sql/{name}: its first line must be a comment that says what the statement does"));
            }
            let listed = one_sided.iter().any(|(side, file, _)| (*side, *file) == (backend, name));
            let paired = there.as_ref().is_none_or(|files| files.iter().any(|(other, _)| other == name));
            match (paired, listed) {
                (false, false) => {
                    found.push(format!("{backend}/sql/{name}: has no twin of that name in the other backend's folder"))
                }
                (true, true) if there.is_some() => {
                    found.push(format!("{backend}/sql/{name}: has a twin now: remove it from ONE_SIDED"))
                }
                _ => {}
            }
        }
        let gone =
            one_sided.iter().filter(|(side, file, _)| *side == backend && !here.iter().flatten().any(|(name, _)| name == file));
        found.extend(gone.map(|(_, file, _)| format!("{backend}/sql/{file}: is no more: remove it from ONE_SIDED")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(names: &[&str]) -> Option<Vec<File>> {
        Some(names.iter().map(|name| ((*name).to_owned(), "-- Claims steps.\nSELECT 1;\n".to_owned())).collect())
    }

    #[test]
    fn a_statement_without_twin_or_header_is_found() {
        assert!(violations(&side(&["a.sql"]), &side(&["a.sql"]), &[]).is_empty());
        assert!(violations(&side(&["a.sql"]), &None, &[]).is_empty(), "a backend that is not there yet has no twins");
        assert!(violations(&side(&["a.sql", "b.sql"]), &side(&["a.sql"]), &[])[0].starts_with("sqlite/sql/b.sql: has no twin"));
        assert!(violations(&side(&[]), &side(&["a.sql"]), &[])[0].starts_with("postgres/sql/a.sql: has no twin"));
        let bare = Some(vec![("a.sql".to_owned(), "SELECT 1;\n-- late\n".to_owned())]);
        assert!(violations(&bare, &side(&["a.sql"]), &[])[0].contains("first line"));
    }

    #[test]
    fn a_one_sided_statement_is_listed_with_its_reason_and_only_while_it_is_one() {
        let listed = [("sqlite", "pragma.sql", "settings of the file")];
        assert!(violations(&side(&["pragma.sql"]), &side(&[]), &listed).is_empty());
        assert!(violations(&side(&["pragma.sql"]), &side(&["pragma.sql"]), &listed)[0].contains("has a twin now"));
        assert!(violations(&side(&[]), &side(&[]), &listed)[0].contains("is no more"));
    }
}
