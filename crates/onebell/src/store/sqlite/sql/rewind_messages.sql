-- rewind_messages: what waits waits as long as it would have, and claims end when they would have
UPDATE onebell_outbox
SET ready_at = CASE WHEN ready_at > :now THEN max(:now, ready_at - :span_us) ELSE ready_at END,
    complete_by = CASE WHEN complete_by > :newest THEN complete_by - :span_us ELSE complete_by END
WHERE (status = 'ready' AND ready_at > :now) OR complete_by > :newest
