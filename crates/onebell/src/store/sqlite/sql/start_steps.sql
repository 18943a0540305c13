-- start_steps: marks a claimed step as begun, under its fence: its time begins then, once; a lapsed claim cannot begin
UPDATE onebell_job_steps
SET complete_by = CASE WHEN started_at IS NULL THEN :now + timeout_us ELSE complete_by END,
    hard_complete_by = CASE WHEN started_at IS NULL THEN :now + max(hard_limit_us, timeout_us) ELSE hard_complete_by END,
    started_at = coalesce(started_at, :now), changed_at = :now
WHERE step_id = :step AND attempt = :attempt AND locked_by = :replica AND status = 'running'
    AND (started_at IS NOT NULL OR complete_by > :now)
