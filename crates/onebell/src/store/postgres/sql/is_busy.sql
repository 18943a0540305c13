-- is_busy: whether a run moves or a message is open
SELECT EXISTS (SELECT FROM onebell.runs WHERE finished_at IS NULL
               AND status IN ('queued', 'running', 'failing', 'cancelling', 'undoing'))
    OR EXISTS (SELECT FROM onebell.outbox WHERE status = 'ready')
    OR EXISTS (SELECT FROM onebell.outbox WHERE complete_by IS NOT NULL AND status IN ('claimed', 'sending')) AS busy
