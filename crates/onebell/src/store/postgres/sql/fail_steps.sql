-- fail_steps: step delivering, held → failed (delivery-failed); step exhausted, held, failed → failed (resolve-failed)
-- A step that ends without an owner takes the next attempt number.
WITH failed AS (
    UPDATE onebell.job_steps s
    SET status = 'failed', uncarried = false, attempt = s.attempt + 1, error = $5, changed_at = $1
    FROM unnest($2::text[], $3::text[]) AS c (step_id, was)
    WHERE s.step_id = c.step_id AND s.status = c.was
    RETURNING s.*
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, ended_at, outcome, error)
SELECT step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, $1, $4, $5
FROM failed
