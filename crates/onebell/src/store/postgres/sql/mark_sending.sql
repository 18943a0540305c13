-- mark_sending: message claimed → sending (send)
UPDATE onebell.outbox
SET status = 'sending', sending_at = $1::timestamptz, complete_by = $1::timestamptz + $5 * interval '1 microsecond', changed_at = $1
WHERE key = $2 AND attempt = $3 AND locked_by = $4 AND status = 'claimed' AND NOT run_gone
