-- list_rejections: what a batch found, in the order of its source
SELECT byte, line, outcome, key, reason, record FROM onebell.rejections
WHERE batch_id = $1 AND byte > $2 ORDER BY byte LIMIT $3
