-- hold_steps: step delivering → held (delivery-in-doubt)
UPDATE onebell_job_steps SET status = 'held', error = :error, changed_at = :now
WHERE step_id = :step AND attempt = :attempt AND status = 'delivering'
