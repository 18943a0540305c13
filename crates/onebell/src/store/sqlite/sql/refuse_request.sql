-- refuse_request: the request was refused; it must not block the next
DELETE FROM onebell_recovery_requests WHERE kind = :kind AND id = :id AND attempt = :attempt AND status = 'open'
