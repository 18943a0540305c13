-- drop_run_messages: message ready → dropped (drop-with-run)
UPDATE onebell_outbox
SET status = 'dropped', dropped_by = 'run', finished_at = :now, changed_at = :now
WHERE run_id = :run AND status = 'ready' AND sending_at IS NULL
