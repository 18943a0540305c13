-- grant_request: request open → granted
UPDATE onebell.recovery_requests
SET status = 'granted', granted_at = $4
WHERE kind = $1 AND id = $2 AND attempt = $3 AND status = 'open'
