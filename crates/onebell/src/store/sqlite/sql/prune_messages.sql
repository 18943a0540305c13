-- prune_messages: finished messages older than their keys are kept
DELETE FROM onebell_outbox WHERE key IN (
    SELECT key FROM onebell_outbox
    WHERE finished_at <= :before AND status IN ('sent', 'failed', 'dropped')
    ORDER BY finished_at LIMIT :limit)
