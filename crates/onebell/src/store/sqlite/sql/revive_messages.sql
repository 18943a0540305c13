-- revive_messages: message dropped → ready (revive)
UPDATE onebell_outbox
SET status = 'ready', ready_at = :now, tries = 0, first_claimed_at = NULL, settled_by = NULL, finished_at = NULL,
    dropped_by = NULL, run_gone = 0, note = NULL, retry = :retry, on_in_doubt = :on_in_doubt,
    job_id = :job, run_id = :run, step_id = :step, changed_at = :now
WHERE key = :key AND status = 'dropped' AND dropped_by = 'run'
