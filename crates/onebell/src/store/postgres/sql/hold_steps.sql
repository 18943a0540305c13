-- hold_steps: step delivering → held (delivery-in-doubt)
UPDATE onebell.job_steps
SET status = 'held', error = 'a message of it is in doubt', changed_at = $1
WHERE step_id = ANY($2) AND status = 'delivering'
