-- budget_steps: step exhausted, held, failed → pending (budget)
UPDATE onebell_job_steps
SET status = 'pending', uncarried = 0, tries = 0, first_claimed_at = NULL, ready_at = :now, changed_at = :now
WHERE step_id = :step AND status IN ('exhausted', 'held', 'failed')
