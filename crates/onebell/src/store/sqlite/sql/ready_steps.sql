-- ready_steps: step waiting → pending (ready)
UPDATE onebell_job_steps
SET status = 'pending', ready_at = :now, changed_at = :now
WHERE step_id IN (SELECT value FROM json_each(:steps)) AND status = 'waiting'
