-- read_open_requests: the oldest first
SELECT kind, id, attempt, requested_by, requested_at, reason, status, granted_at
FROM onebell.recovery_requests
WHERE status = 'open'
ORDER BY requested_at, kind, id, attempt
LIMIT $1
