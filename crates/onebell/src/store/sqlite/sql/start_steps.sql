-- start_steps: marks a claimed step as begun, under its fence
UPDATE onebell_job_steps
SET started_at = coalesce(started_at, :now), complete_by = :now + timeout_us, changed_at = :now
WHERE step_id = :step AND attempt = :attempt AND locked_by = :replica AND status = 'running'
