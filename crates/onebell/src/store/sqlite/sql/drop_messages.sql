-- drop_messages: message ready, failed, in_doubt → dropped (drop)
UPDATE onebell_outbox SET status = 'dropped', dropped_by = 'person', finished_at = :now, changed_at = :now
WHERE key = :key AND status IN ('ready', 'failed', 'in_doubt')
