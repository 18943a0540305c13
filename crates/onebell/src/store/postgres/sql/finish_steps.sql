-- finish_steps: step running → succeeded (succeed); step running → cancelled (cancel-running)
WITH ended AS (
    SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[],
                         $10::text[], $11::bytea[], $12::bytea[])
        AS e (step_id, attempt, replica, final, outcome, tries, error, summary, rows, stdout, stderr)
), gone AS (
    DELETE FROM onebell.job_steps s
    USING ended e
    WHERE s.step_id = e.step_id AND s.attempt = e.attempt AND s.locked_by = e.replica AND s.status = 'running'
    RETURNING s.step_id, s.attempt, s.run_id, s.job_id, s.name, e.final, s.rank, s.undoable, s.after, e.tries, s.locked_by, s.claimed_at,
        s.started_at, e.outcome, e.error, e.summary, e.rows, e.stdout, e.stderr
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, replica, claimed_at,
    started_at, ended_at, outcome, error, summary, rows, stdout, stderr)
SELECT step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, locked_by, claimed_at,
    started_at, $1, outcome, error, summary, rows, stdout, stderr
FROM gone
