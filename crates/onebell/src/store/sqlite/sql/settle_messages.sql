-- settle_messages: message claimed → ready (lose, give-back); message claimed, sending → ready (defer); message claimed, sending → failed (reject); message claimed, sending → sent (accept); message sending → in_doubt (doubt); message claimed → dropped (drop-with-run)
UPDATE onebell_outbox
SET status = :to, ready_at = :ready_at, tries = :tries, note = coalesce(:note, note), settled_by = :settled_by,
    locked_by = NULL, claimed_at = NULL, complete_by = NULL,
    dropped_by = CASE WHEN :to = 'dropped' THEN 'run' END,
    finished_at = CASE WHEN :to IN ('sent', 'failed', 'dropped') THEN :now END, changed_at = :now
WHERE key = :key AND attempt = :attempt AND locked_by = :replica AND status = :from AND status IN ('claimed', 'sending')
