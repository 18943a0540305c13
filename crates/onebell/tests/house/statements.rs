//! One statement per file, the same names in both backends' folders, so that they are read side by side.

use crate::files::{self, File};

/// Statements that only one database needs, as (`sqlite` or `postgres`, file, reason).
pub(crate) const ONE_SIDED: &[(&str, &str, &str)] = &[
    ("sqlite", "adopt_messages.sql", "PostgreSQL does it within revive_messages"),
    ("sqlite", "claim_alone_step.sql", "PostgreSQL claims by one statement with the found id"),
    ("sqlite", "find_alone_step.sql", "PostgreSQL finds and claims it in one statement"),
    ("sqlite", "insert_attempts.sql", "PostgreSQL appends the history within the statements that end steps"),
    ("sqlite", "accept_clock.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "keep_clock.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "read_newest_renewal.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_jobs.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_messages.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_runs.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_steps.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_vigils.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "rewind_terms.sql", "only here is the store's clock a host's, which may be set back"),
    ("sqlite", "read_abandoned_steps.sql", "PostgreSQL reads them under their locks: lock_open_steps"),
    ("sqlite", "read_batch.sql", "PostgreSQL reads it under its lock: lock_batch"),
    ("sqlite", "read_series.sql", "PostgreSQL reads it under its lock: lock_series"),
    ("sqlite", "keep_run_messages.sql", "PostgreSQL does it within the statement that revives"),
    ("sqlite", "mark_run_gone.sql", "PostgreSQL does it within drop_run_messages"),
    ("sqlite", "prove_messages.sql", "PostgreSQL proves within end_messages"),
    ("sqlite", "read_claimed_messages.sql", "PostgreSQL returns them from the claim"),
    ("sqlite", "read_open_step.sql", "PostgreSQL reads it under its lock: lock_step"),
    ("sqlite", "record_cancelled_steps.sql", "PostgreSQL records within cancel_steps"),
    ("postgres", "find_schema.sql", "SQLite keeps the schema version by its own pragma and lock"),
    ("postgres", "find_step.sql", "SQLite reads it with read_open_step"),
    ("postgres", "lock_open_steps.sql", "SQLite reads the running ones with read_abandoned_steps"),
    ("postgres", "find_undo.sql", "SQLite decides it from the run graph"),
    ("postgres", "fill_chunk.sql", "SQLite's relation `chunk` is made and filled by the connection"),
    ("postgres", "look_at_batch.sql", "an atomic batch is locked last; SQLite's only writer holds it from the start"),
    ("postgres", "insert_chunk.sql", "SQLite's relation `chunk` is made and filled by the connection"),
    ("postgres", "lock_batch.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_series.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "hold_term.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_called_step.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_cancellable.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_claimant.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_delivering_steps.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_ended_messages.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_flying_messages.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_free_jobs.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_job_for_erasure.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_job_runs.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_jobs.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_live_replica.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_prunable_runs.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_schema.sql", "SQLite keeps the schema version by its own pragma and lock"),
    ("postgres", "lock_step.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "lock_stopped_steps.sql", "a lock: on SQLite, BEGIN IMMEDIATE is the only one"),
    ("postgres", "open_term.sql", "SQLite opens a first term within take_term"),
    ("postgres", "read_clock.sql", "SQLite's clock is the host's"),
    ("postgres", "read_deliveries.sql", "SQLite reads them with the delivering steps"),
    ("postgres", "read_due_of_many.sql", "SQLite has no list of a hundred thousand ids to send over a network"),
    ("postgres", "read_first_of_many.sql", "SQLite has no list of a hundred thousand ids to send over a network"),
    ("postgres", "read_lost_runs.sql", "SQLite locks no runs before it recovers"),
    ("postgres", "read_mark.sql", "SQLite knows by is_autocommit"),
    ("postgres", "read_next_of_many.sql", "SQLite has no list of a hundred thousand ids to send over a network"),
    ("postgres", "read_queued_of_many.sql", "SQLite has no list of a hundred thousand ids to send over a network"),
    ("postgres", "read_schema.sql", "SQLite keeps the schema version by its own pragma and lock"),
    ("postgres", "read_work_left.sql", "SQLite reads it with the step"),
    ("postgres", "record_schema.sql", "SQLite keeps the schema version by its own pragma and lock"),
    ("postgres", "resign_term.sql", "SQLite resigns within the statement that extends"),
];

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
