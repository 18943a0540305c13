-- refuse_request: a refused request must not block the next one
DELETE FROM onebell.recovery_requests
WHERE kind = $1 AND id = $2 AND attempt = $3 AND status = 'open'
