-- record_cancelled_steps: the history of steps that are about to be cancelled unclaimed
INSERT INTO onebell_attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, ended_at, outcome, error)
SELECT step_id, attempt + 1, run_id, job_id, name, 'cancelled', rank, undoable, after, tries, :now, 'cancelled', error
FROM onebell_job_steps
WHERE step_id IN (SELECT value FROM json_each(:steps)) AND status IN ('waiting', 'pending')
