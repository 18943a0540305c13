//! What a pass reads of a hundred thousand schedules in one file: counted in the steps that SQLite takes, not in time.
#![cfg(feature = "sqlite")]

#[cfg(test)]
mod scale {
    use onebell::store::sqlite::{SqliteStore, rusqlite};
    use rusqlite::{Connection, StatementStatus};

    /// So many are due; so many jobs does the replica carry.
    const DUE: i64 = 1_000;

    /// A file with so many schedules, of which the first thousand are due.
    fn file(folder: &tempfile::TempDir, schedules: u32) -> Connection {
        let path = folder.path().join(format!("{schedules}.db"));
        drop(SqliteStore::builder(&path).inline().open_and_migrate().unwrap());
        let connection = Connection::open(&path).unwrap();
        let fill = format!(
            "INSERT INTO onebell_jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot)
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {schedules})
             SELECT 'j' || n, 'job ' || n, '{{}}', 1, 'h', 'r', 0, 0, CASE WHEN n <= {DUE} THEN 1000 + n ELSE 1000000 + n END FROM n"
        );
        connection.execute_batch(&fill).unwrap();
        connection
    }

    fn text(name: &str) -> &'static str {
        SqliteStore::statements().find(|(known, _)| *known == name).expect("a statement of that name").1
    }

    /// How many rows there are and how many steps they cost.
    fn steps(connection: &Connection, name: &str, carried: &str) -> (usize, i32) {
        let mut statement = connection.prepare(text(name)).unwrap();
        let values: [(&str, &dyn rusqlite::ToSql); 3] = [(":jobs", &carried), (":now", &500_000), (":limit", &10_000)];
        for (key, value) in values {
            if let Some(index) = statement.parameter_index(key).unwrap() {
                statement.raw_bind_parameter(index, value).unwrap();
            }
        }
        let mut rows = statement.raw_query();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        drop(rows);
        (count, statement.get_status(StatementStatus::VmStep))
    }

    #[test]
    fn a_pass_over_a_hundred_thousand_schedules_takes_the_steps_that_one_over_the_due_ones_takes() {
        let folder = tempfile::tempdir().unwrap();
        let (few, many) = (file(&folder, 1_000), file(&folder, 100_000));
        let carried = serde_json::to_string(&(1..=DUE).map(|n| format!("j{n}")).collect::<Vec<_>>()).unwrap();
        for (name, rows) in [("read_due_jobs", 1_000), ("read_next_slot", 1)] {
            let (of_few, of_many) = (steps(&few, name, &carried), steps(&many, name, &carried));
            assert_eq!((of_few.0, of_many.0), (rows, rows), "{name}");
            // One more: the first row that is not due any more ends the walk.
            assert!(of_many.1 <= of_few.1 + 50, "{name}: {of_few:?} steps grew to {of_many:?}");
        }
    }
}
