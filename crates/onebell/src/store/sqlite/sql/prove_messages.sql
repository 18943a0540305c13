-- prove_messages: message in_doubt → sent (proof)
UPDATE onebell_outbox
SET status = 'sent', note = coalesce(:note, note), settled_by = :settled_by, finished_at = :now, changed_at = :now
WHERE key = :key AND attempt = :attempt AND status = 'in_doubt'
