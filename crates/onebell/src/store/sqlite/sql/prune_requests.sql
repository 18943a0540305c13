-- prune_requests: granted recovery requests older than runs are kept
DELETE FROM onebell_recovery_requests WHERE (kind, id, attempt) IN (
    SELECT kind, id, attempt FROM onebell_recovery_requests
    WHERE status = 'granted' AND granted_at <= :before
    LIMIT :limit)
