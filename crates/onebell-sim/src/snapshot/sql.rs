//! One query over all tables. Each column of its one row is a table as text: a line per row, the key, a tab, the columns
//! as a JSON array in the order of `rows`.

macro_rules! table {
    ($name:literal, $key:literal, $columns:literal, $from:literal) => {
        concat!(
            "(SELECT group_concat(line, char(10)) FROM (SELECT ",
            $key,
            " || char(9) || json_array(",
            $columns,
            ") AS line FROM ",
            $from,
            " ORDER BY ",
            $key,
            ")) AS ",
            $name
        )
    };
}

macro_rules! steps {
    () => {
        table!(
        "steps", "step_id",
        "run_id, job_id, name, after, rank, undoable, status, ready_at, attempt, tries, retry ->> 'attempts', retry ->> 'within_us', alone,
         first_claimed_at, locked_by, claimed_at, started_at, complete_by, hard_complete_by, on_lost, timeout_us, priority, changed_at,
         handler, queue, uncarried",
        "onebell_job_steps"
    )
    };
}

macro_rules! messages {
    () => {
        table!(
        "messages", "key",
        "channel, fingerprint, on_in_doubt, run_id, step_id, status, ready_at, attempt, tries, retry ->> 'attempts', locked_by, complete_by,
         sending_at, resent, run_gone, settled_by, dropped_by, finished_at, changed_at",
        "onebell_outbox"
    )
    };
}

macro_rules! batches {
    () => {
        concat!(
            table!(
                "batches",
                "batch_id",
                "series, generation, scope, source, identity, status, atomic, attempt, locked_by, complete_by, timeout_us, byte, line, prefix,
                 applied, already, conflicts, rejected, failed",
                "onebell_batches"
            ),
            ", ",
            table!("findings", "format('%s@%06d', batch_id, byte)", "batch_id, byte, outcome, key", "onebell_rejections"),
            ", ",
            table!(
                "loads",
                "scope || '/' || key",
                "scope, key, amount, times",
                "(SELECT scope, key, max(amount) AS amount, count(*) AS times FROM sim_loads GROUP BY scope, key)"
            ),
            ", ",
            table!(
                "effects",
                "scope || '/' || key",
                "scope, key, fingerprint, amount, payload, step_id, batch_id, failed",
                "onebell_effects"
            )
        )
    };
}

macro_rules! requests {
    () => {
        table!(
            "requests",
            "kind || ' ' || id || ' ' || attempt",
            "kind, id, attempt, status, requested_at",
            "onebell_recovery_requests"
        )
    };
}

macro_rules! replicas {
    () => {
        table!("replicas", "replica_id", "beat, lost_at, left_at, jobs", "onebell_replicas")
    };
}

macro_rules! terms {
    () => {
        table!("terms", "duty", "holder, epoch, expires_at", "onebell_terms")
    };
}

/// All tables.
pub(super) const ALL: &str = concat!(
    "SELECT ",
    table!(
        "runs",
        "run_id",
        "job_id, version, scheduled_for, origin, status, goal, created_at, finished_at, changed_at",
        "onebell_runs"
    ),
    ", ",
    steps!(),
    ", ",
    table!(
        "attempts",
        "format('%s#%06d', step_id, attempt)",
        "step_id, attempt, run_id, name, final, outcome, replica, started_at, tries, rank, undoable, ended_at",
        "onebell_attempts"
    ),
    ", ",
    messages!(),
    ", ",
    batches!(),
    ", ",
    table!(
        "work",
        "format('%s#%06d', step, attempt)",
        "step, attempt, times",
        "(SELECT step, attempt, count(*) AS times FROM sim_work GROUP BY step, attempt)"
    ),
    ", ",
    requests!(),
    ", ",
    table!(
        "jobs",
        "job_id",
        "version, hash, cursor, next_slot, pruned_before, paused_at, anchor_s",
        "(SELECT *, coalesce(CAST(strftime('%s', json_extract(definition, '$.anchor')) AS INTEGER), 0) AS anchor_s FROM onebell_jobs)"
    ),
    ", ",
    table!(
        "skips",
        "job_id || ' ' || from_slot || ' ' || reason",
        "job_id, from_slot, to_slot, count, reason, recorded_at",
        "onebell_skips"
    ),
    ", ",
    table!("keys", "key", "fingerprint, job_id, run_id, created_at", "onebell_request_keys"),
    ", ",
    table!("late", "format('%s#%06d %s', step_id, attempt, replica)", "step_id, attempt, replica", "onebell_superseded"),
    ", ",
    replicas!(),
    ", ",
    terms!(),
);

/// What renewals and terms write.
pub(super) const SIGNS: &str = concat!("SELECT ", replicas!(), ", ", terms!());
/// What claims of steps write.
pub(super) const STEPS: &str = concat!("SELECT ", steps!());
/// What a relay writes.
pub(super) const MESSAGES: &str = concat!("SELECT ", messages!());
/// What a supervisor writes.
pub(super) const REQUESTS: &str = concat!("SELECT ", requests!());
/// What loaders write.
pub(super) const BATCHES: &str = concat!("SELECT ", batches!());
