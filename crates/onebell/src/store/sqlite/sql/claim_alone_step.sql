-- claim_alone_step: step pending → running (claim)
UPDATE onebell_job_steps
SET status = 'running', attempt = attempt + 1, tries = tries + 1, locked_by = :replica, claimed_at = :now,
    started_at = CASE WHEN :start > 0 THEN :now END,
    complete_by = :now + timeout_us, hard_complete_by = :now + max(hard_limit_us, timeout_us),
    first_claimed_at = coalesce(first_claimed_at, :now), changed_at = :now
WHERE step_id = :step AND status = 'pending'
RETURNING step_id
