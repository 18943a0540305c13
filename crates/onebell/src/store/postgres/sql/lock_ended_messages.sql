-- lock_ended_messages: holds the messages on which the end of a step depends, against a person's word meanwhile
SELECT key
FROM onebell.outbox
WHERE step_id = ANY($1) AND status IN ('failed', 'in_doubt')
ORDER BY key
FOR NO KEY UPDATE
