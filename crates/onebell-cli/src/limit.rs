//! What a database can do at most, measured on plain tables: the smallest statements that could carry a step or a record, as durable
//! and in sets as large as the engine's own, and nothing else. It knows nothing of the engine; statements lie in a folder for each database.

pub mod postgres;
pub mod records;
pub mod sqlite;

use std::ops::Range;
use std::time::Duration;

/// Records of one transaction, as `apply` commits them unless it is told otherwise.
const CHUNK: usize = 1_000;
/// Whose claims they are.
const OWNER: &str = "limit";

/// So many in that time, by the second.
pub fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(f64::EPSILON)
}

/// Numbers of the first and the last row of each set, counted from 1.
fn sets(rows: Range<usize>, set: usize) -> Vec<(i64, i64)> {
    let last = rows.end;
    rows.step_by(set.max(1)).map(|first| (first as i64 + 1, last.min(first + set) as i64)).collect()
}

/// What is wrong when a claim or a settlement did not find its whole set.
fn lost(verb: &str, found: u64, (first, last): (i64, i64)) -> Option<String> {
    let set = last + 1 - first;
    (i64::try_from(found) != Ok(set))
        .then(|| format!("the limit could not be measured: {verb} changed {found} rows instead of {set}"))
}
