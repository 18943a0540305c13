-- cancel_steps: step waiting, pending → cancelled (cancel)
WITH gone AS (
    DELETE FROM onebell.job_steps
    WHERE step_id = ANY($2) AND status IN ('waiting', 'pending')
    RETURNING *
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, ended_at, outcome)
SELECT step_id, attempt + 1, run_id, job_id, name, 'cancelled', rank, undoable, after, tries, $1, 'cancelled'
FROM gone
