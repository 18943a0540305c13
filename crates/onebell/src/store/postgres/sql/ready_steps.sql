-- ready_steps: step waiting → pending (ready)
UPDATE onebell.job_steps
SET status = 'pending', ready_at = $1, changed_at = $1
WHERE step_id = ANY($2) AND status = 'waiting'
