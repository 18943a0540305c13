-- question_steps: step pending → held (question)
UPDATE onebell.job_steps
SET status = 'held', uncarried = false, error = $3, changed_at = $1
WHERE step_id = ANY($2) AND status = 'pending'
