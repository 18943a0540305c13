-- is_busy: whether a run or a message is still on its way
SELECT 1 WHERE EXISTS (SELECT 1 FROM onebell_runs WHERE finished_at IS NULL
                         AND status IN ('queued', 'running', 'cancelling', 'failing', 'undoing'))
            OR EXISTS (SELECT 1 FROM onebell_outbox WHERE status = 'ready')
            OR EXISTS (SELECT 1 FROM onebell_outbox WHERE complete_by IS NOT NULL)
