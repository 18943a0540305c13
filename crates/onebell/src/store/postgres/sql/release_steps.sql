-- release_steps: step running → pending (retry, give-back, stop, recover); step running → exhausted (exhaust); step running → held (hold, question); step running → failed (fail); step running → delivering (deliver)
-- The history takes what the row was before.
WITH ended AS (
    SELECT e.*, o.claimed_at, o.started_at
    FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
                $10::text[], $11::bytea[], $12::bytea[], $13::timestamptz[], $14::boolean[])
        AS e (step_id, attempt, replica, status, outcome, tries, error, summary, rows, stdout, stderr, ready_at, alone)
    JOIN onebell.job_steps o ON o.step_id = e.step_id AND o.attempt = e.attempt
), released AS (
    UPDATE onebell.job_steps s
    SET status = e.status, tries = e.tries, error = e.error, ready_at = e.ready_at, alone = s.alone OR e.alone, changed_at = $1,
        locked_by = NULL, claimed_at = NULL, started_at = NULL, complete_by = NULL, hard_complete_by = NULL
    FROM ended e
    WHERE s.step_id = e.step_id AND s.attempt = e.attempt AND s.locked_by = e.replica AND s.status = 'running'
    RETURNING s.step_id, s.attempt, s.run_id, s.job_id, s.name, s.rank, s.undoable, s.after, e.tries, e.replica, e.claimed_at,
        e.started_at, e.outcome, e.error, e.summary, e.rows, e.stdout, e.stderr
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, replica, claimed_at,
    started_at, ended_at, outcome, error, summary, rows, stdout, stderr)
SELECT step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, replica, claimed_at,
    started_at, $1, outcome, error, summary, rows, stdout, stderr
FROM released
