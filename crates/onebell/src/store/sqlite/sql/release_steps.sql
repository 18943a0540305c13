-- release_steps: step running → pending (retry, give-back, stop, recover); step running → exhausted (exhaust); step running → held (hold, question); step running → failed (fail); step running → delivering (deliver)
UPDATE onebell_job_steps
SET status = :to, ready_at = :ready_at, tries = :tries, alone = max(alone, :alone), error = :error,
    locked_by = NULL, claimed_at = NULL, started_at = NULL, complete_by = NULL, hard_complete_by = NULL, changed_at = :now
WHERE step_id = :step AND attempt = :attempt AND locked_by = :replica AND status = 'running'
