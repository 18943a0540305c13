-- revive_run_messages: message dropped → ready (revive)
UPDATE onebell_outbox
SET status = 'ready', ready_at = :now, tries = 0, first_claimed_at = NULL, settled_by = NULL, finished_at = NULL,
    dropped_by = NULL, run_gone = 0, changed_at = :now
WHERE run_id = :run AND status = 'dropped' AND dropped_by = 'run'
