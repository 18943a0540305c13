-- list_rejections: what a batch found, in the order of its source
SELECT byte, line, outcome, key, reason, record FROM onebell_rejections
WHERE batch_id = :batch AND byte > :after ORDER BY byte LIMIT :limit
