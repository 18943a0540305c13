-- question_steps: step pending → held (question)
-- Under a number of its own: what an attempt before it delivered does not close it.
UPDATE onebell.job_steps
SET status = 'held', attempt = attempt + 1, uncarried = false, error = $3, changed_at = $1
WHERE step_id = ANY($2) AND status = 'pending'
