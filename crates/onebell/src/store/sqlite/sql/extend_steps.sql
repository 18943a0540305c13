-- extend_steps: moves a claim's end, under its fence, never a lapsed one
UPDATE onebell_job_steps
SET complete_by = max(complete_by, min(:now + timeout_us, hard_complete_by))
WHERE step_id = :step AND attempt = :attempt AND locked_by = :replica AND status = 'running'
  AND complete_by > :now
  AND EXISTS (SELECT 1 FROM onebell_replicas WHERE replica_id = :replica AND lost_at IS NULL AND left_at IS NULL)
RETURNING complete_by
