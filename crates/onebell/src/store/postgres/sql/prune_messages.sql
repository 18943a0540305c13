-- prune_messages: finished messages older than their keys are kept
WITH picked AS MATERIALIZED (
    SELECT o.key
    FROM onebell.outbox o
    WHERE o.finished_at <= $1 AND o.status IN ('sent', 'failed', 'dropped')
    ORDER BY o.finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM onebell.outbox o USING picked WHERE o.key = picked.key
