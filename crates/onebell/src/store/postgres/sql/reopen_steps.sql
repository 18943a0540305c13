-- reopen_steps: step cancelled → waiting (reopen)
-- The history keeps the attempt; the step goes back to job_steps and waits.
UPDATE onebell.attempts
SET final = NULL
WHERE run_id = $1 AND final = 'cancelled'
RETURNING step_id, name, attempt
