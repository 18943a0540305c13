-- prune_requests: granted recovery requests older than runs are kept
WITH picked AS MATERIALIZED (
    SELECT kind, id, attempt
    FROM onebell.recovery_requests
    WHERE status = 'granted' AND granted_at <= $1
    ORDER BY kind, id, attempt
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM onebell.recovery_requests q USING picked p WHERE q.kind = p.kind AND q.id = p.id AND q.attempt = p.attempt
