-- drop_messages: message ready, failed, in_doubt → dropped (drop)
UPDATE onebell.outbox
SET status = 'dropped', dropped_by = 'person', note = coalesce($3, note), finished_at = $1, changed_at = $1
WHERE key = $2 AND status IN ('ready', 'failed', 'in_doubt')
