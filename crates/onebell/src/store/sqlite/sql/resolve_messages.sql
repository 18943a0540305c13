-- resolve_messages: message in_doubt → sent (resolve-sent)
UPDATE onebell_outbox SET status = 'sent', finished_at = :now, changed_at = :now
WHERE key = :key AND status = 'in_doubt'
