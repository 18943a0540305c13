-- resolve_messages: message in_doubt → sent (resolve-sent)
UPDATE onebell.outbox
SET status = 'sent', note = coalesce($3, note), finished_at = $1, changed_at = $1
WHERE key = $2 AND status = 'in_doubt'
