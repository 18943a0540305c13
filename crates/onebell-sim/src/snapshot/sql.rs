//! How each table is read, and how it is known that it was written. One query a table, whose one column is the table as
//! text: a line per row, the key, a tab, the columns as a JSON array in the order of `rows`.

use std::fmt::Write;

/// A table of the snapshot.
pub(super) struct Source {
    /// Its name there.
    pub name: &'static str,
    /// Its name in the database.
    pub table: &'static str,
    pub query: &'static str,
}

macro_rules! source {
    ($name:literal, $table:literal, $key:literal, $columns:literal) => {
        source!($name, $table, $key, $columns, $table)
    };
    ($name:literal, $table:literal, $key:literal, $columns:literal, $from:literal) => {
        Source {
            name: $name,
            table: $table,
            query: concat!(
                "SELECT group_concat(line, char(10)) AS rows FROM (SELECT ",
                $key,
                " || char(9) || json_array(",
                $columns,
                ") AS line FROM ",
                $from,
                " ORDER BY ",
                $key,
                ")"
            ),
        }
    };
}

/// All tables. Their places are those of the counts in [`TOUCHED`].
pub(super) const SOURCES: [Source; 17] = [
    source!(
        "runs",
        "onebell_runs",
        "run_id",
        "job_id, version, scheduled_for, origin, status, goal, created_at, finished_at, changed_at, finish_by"
    ),
    source!(
        "steps",
        "onebell_job_steps",
        "step_id",
        "run_id, job_id, name, after, rank, undoable, status, ready_at, attempt, tries, retry ->> 'attempts', retry ->> 'within_us', alone,
         first_claimed_at, locked_by, claimed_at, started_at, complete_by, hard_complete_by, on_lost, timeout_us, priority, changed_at,
         handler, queue, uncarried"
    ),
    source!(
        "attempts",
        "onebell_attempts",
        "format('%s#%06d', step_id, attempt)",
        "step_id, attempt, run_id, name, final, outcome, replica, started_at, tries, rank, undoable, ended_at, coalesce(started_at, claimed_at)"
    ),
    source!(
        "messages",
        "onebell_outbox",
        "key",
        "channel, fingerprint, on_in_doubt, run_id, step_id, status, ready_at, attempt, tries, retry ->> 'attempts', locked_by, complete_by,
         sending_at, resent, run_gone, settled_by, dropped_by, finished_at, changed_at"
    ),
    source!(
        "effects",
        "onebell_effects",
        "scope || '/' || key",
        "scope, key, fingerprint, amount, payload, step_id, batch_id, failed"
    ),
    source!(
        "work",
        "sim_work",
        "format('%s#%06d', step, attempt)",
        "step, attempt, times",
        "(SELECT step, attempt, count(*) AS times FROM sim_work GROUP BY step, attempt)"
    ),
    source!(
        "batches",
        "onebell_batches",
        "batch_id",
        "series, generation, scope, source, identity, status, atomic, attempt, locked_by, complete_by, timeout_us, byte, line, prefix,
         applied, already, conflicts, rejected, failed"
    ),
    source!("findings", "onebell_rejections", "format('%s@%06d', batch_id, byte)", "batch_id, byte, outcome, key"),
    source!(
        "loads",
        "sim_loads",
        "scope || '/' || key",
        "scope, key, amount, times",
        "(SELECT scope, key, max(amount) AS amount, count(*) AS times FROM sim_loads GROUP BY scope, key)"
    ),
    source!(
        "requests",
        "onebell_recovery_requests",
        "kind || ' ' || id || ' ' || attempt",
        "kind, id, attempt, status, requested_at"
    ),
    source!(
        "jobs",
        "onebell_jobs",
        "job_id",
        "version, hash, cursor, next_slot, pruned_before, paused_at, anchor_s",
        "(SELECT *, coalesce(CAST(strftime('%s', json_extract(definition, '$.anchor')) AS INTEGER), 0) AS anchor_s FROM onebell_jobs)"
    ),
    source!(
        "skips",
        "onebell_skips",
        "job_id || ' ' || from_slot || ' ' || reason",
        "job_id, from_slot, to_slot, count, reason, recorded_at"
    ),
    source!("vigils", "onebell_vigils", "job_id", "within_us, since, succeeded_at, expect_by, failures"),
    source!("keys", "onebell_request_keys", "key", "fingerprint, job_id, run_id, created_at"),
    source!(
        "late",
        "onebell_superseded",
        "format('%s#%06d %s', step_id, attempt, replica)",
        "step_id, attempt, replica"
    ),
    source!("replicas", "onebell_replicas", "replica_id", "beat, lost_at, left_at, jobs"),
    source!("terms", "onebell_terms", "duty", "holder, epoch, expires_at"),
];

/// How often rows of each table were written.
pub(super) const TOUCHED: &str = "SELECT group_concat(times, ' ') AS rows FROM (SELECT times FROM sim_touched ORDER BY place)";

/// Counts each row that is written, in the transaction that writes it, for as long as the connection is there.
pub(super) fn watching() -> String {
    let mut text = String::from("CREATE TEMP TABLE sim_touched (place INTEGER PRIMARY KEY, times INTEGER NOT NULL) STRICT;\n");
    for (place, Source { table, .. }) in SOURCES.iter().enumerate() {
        let _ = writeln!(text, "INSERT INTO sim_touched VALUES ({place}, 0);");
        for act in ["INSERT", "UPDATE", "DELETE"] {
            let count = format!("UPDATE sim_touched SET times = times + 1 WHERE place = {place}");
            let _ = writeln!(text, "CREATE TEMP TRIGGER sim_{table}_{act} AFTER {act} ON main.{table} BEGIN {count}; END;");
        }
    }
    text
}
