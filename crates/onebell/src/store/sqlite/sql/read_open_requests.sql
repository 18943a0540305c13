-- read_open_requests: open recovery requests, the oldest first
SELECT kind, id, attempt, requested_by, requested_at, reason, status, granted_at
FROM onebell_recovery_requests
WHERE status = 'open'
ORDER BY requested_at, kind, id, attempt
LIMIT :limit
