-- mark_sending: message claimed → sending (send)
UPDATE onebell_outbox
SET status = 'sending', sending_at = :now, complete_by = :complete_by, changed_at = :now
WHERE key = :key AND attempt = :attempt AND locked_by = :replica AND status = 'claimed' AND run_gone = 0
  AND complete_by > :now
