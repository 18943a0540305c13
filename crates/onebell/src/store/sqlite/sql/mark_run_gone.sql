-- mark_run_gone: messages of a failed run that are on their way are dropped when they come back
UPDATE onebell_outbox
SET run_gone = 1, changed_at = :now
WHERE run_id = :run AND status = 'claimed' AND sending_at IS NULL AND run_gone = 0
