-- resend_messages: message in_doubt, failed → ready (resend)
UPDATE onebell_outbox
SET status = 'ready', ready_at = :now, run_gone = 0, finished_at = NULL, changed_at = :now,
    tries = CASE WHEN :anew THEN 0 ELSE tries END,
    first_claimed_at = CASE WHEN :anew THEN NULL ELSE first_claimed_at END
WHERE key = :key AND status IN ('in_doubt', 'failed')
