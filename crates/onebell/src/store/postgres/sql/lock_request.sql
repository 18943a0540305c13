-- lock_request: locks a request
SELECT status
FROM onebell.recovery_requests
WHERE kind = $1 AND id = $2 AND attempt = $3
FOR UPDATE
