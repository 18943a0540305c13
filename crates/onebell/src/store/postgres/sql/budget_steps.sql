-- budget_steps: step exhausted, held, failed → pending (budget)
UPDATE onebell.job_steps
SET status = 'pending', uncarried = false, tries = 0, first_claimed_at = NULL, ready_at = $1, changed_at = $1
WHERE step_id = ANY($2) AND status IN ('exhausted', 'held', 'failed')
