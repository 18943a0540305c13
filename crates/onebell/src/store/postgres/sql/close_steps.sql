-- close_steps: step delivering, held → succeeded (delivered); step exhausted, held, failed → succeeded (resolve-succeeded)
-- A step that ends without an owner takes the next attempt number.
WITH gone AS (
    DELETE FROM onebell.job_steps s
    USING unnest($2::text[], $3::text[]) AS c (step_id, was)
    WHERE s.step_id = c.step_id AND s.status = c.was
    RETURNING s.*
)
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, ended_at, outcome, summary)
SELECT step_id, attempt + 1, run_id, job_id, name, 'succeeded', rank, undoable, after, tries, $1, $4, $5
FROM gone
