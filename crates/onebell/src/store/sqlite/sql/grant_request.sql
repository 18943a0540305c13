-- grant_request: the request was granted; it stays as history
UPDATE onebell_recovery_requests SET status = 'granted', granted_at = :now
WHERE kind = :kind AND id = :id AND attempt = :attempt AND status = 'open'
