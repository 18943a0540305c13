-- lock_request: where a recovery request stands, under the write lock
SELECT status FROM onebell_recovery_requests WHERE kind = :kind AND id = :id AND attempt = :attempt
