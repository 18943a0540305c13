-- resend_messages: message in_doubt, failed → ready (resend)
UPDATE onebell.outbox
SET status = 'ready', note = coalesce($3, note), ready_at = $1, tries = 0, first_claimed_at = NULL, run_gone = false,
    finished_at = NULL, changed_at = $1
WHERE key = $2 AND status IN ('in_doubt', 'failed')
