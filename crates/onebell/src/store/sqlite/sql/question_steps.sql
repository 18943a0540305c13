-- question_steps: step pending → held (question)
UPDATE onebell_job_steps
SET status = 'held', uncarried = 0, error = :error, changed_at = :now
WHERE run_id = :run AND status = 'pending' AND error IS NOT :error
