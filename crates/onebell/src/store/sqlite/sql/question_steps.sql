-- question_steps: step pending → held (question)
-- Under a number of its own: what an attempt before it delivered does not close it.
UPDATE onebell_job_steps
SET status = 'held', attempt = attempt + 1, uncarried = 0, error = :error, changed_at = :now
WHERE run_id = :run AND status = 'pending' AND error IS NOT :error
