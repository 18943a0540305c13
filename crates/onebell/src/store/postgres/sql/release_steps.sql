-- release_steps: step running → pending (retry, give-back, stop, recover); step running → exhausted (exhaust); step running → held (hold); step running → failed (fail); step running → delivering (deliver)
WITH ended AS (
    SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
                         $10::text[], $11::bytea[], $12::bytea[], $13::timestamptz[], $14::boolean[])
        AS e (step_id, attempt, replica, status, outcome, tries, error, summary, rows, stdout, stderr, ready_at, alone)
), was AS MATERIALIZED (
    SELECT s.*
    FROM ended e JOIN onebell.job_steps s ON s.step_id = e.step_id AND s.attempt = e.attempt
), released AS (
    UPDATE onebell.job_steps s
    SET status = e.status, tries = e.tries, error = e.error, ready_at = e.ready_at, alone = s.alone OR e.alone, changed_at = $1,
        locked_by = NULL, claimed_at = NULL, started_at = NULL, complete_by = NULL, hard_complete_by = NULL
    FROM ended e
    WHERE s.step_id = e.step_id AND s.attempt = e.attempt AND s.locked_by = e.replica AND s.status = 'running'
    RETURNING s.step_id
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, replica, claimed_at,
    started_at, ended_at, outcome, error, summary, rows, stdout, stderr)
SELECT w.step_id, w.attempt, w.run_id, w.job_id, w.name, w.rank, w.undoable, w.after, e.tries, w.locked_by, w.claimed_at,
    w.started_at, $1, e.outcome, e.error, e.summary, e.rows, e.stdout, e.stderr
FROM was w JOIN released USING (step_id) JOIN ended e USING (step_id)
