-- list_recoveries: recovery requests, the newest first
SELECT kind, id, attempt, requested_by, requested_at, reason, status, granted_at
FROM onebell.recovery_requests
ORDER BY requested_at DESC, kind, id, attempt
LIMIT $1
