-- drop_run_messages: message ready → dropped (drop-with-run)
-- A claimed one is marked: it is dropped when it comes back.
WITH picked AS MATERIALIZED (
    SELECT key
    FROM onebell.outbox
    WHERE run_id = ANY($2) AND status IN ('ready', 'claimed') AND sending_at IS NULL AND NOT run_gone
    ORDER BY key
    FOR NO KEY UPDATE
)
UPDATE onebell.outbox o
SET status = CASE WHEN o.status = 'ready' THEN 'dropped' ELSE o.status END,
    dropped_by = CASE WHEN o.status = 'ready' THEN 'run' END,
    finished_at = CASE WHEN o.status = 'ready' THEN $1 ELSE o.finished_at END,
    run_gone = (o.status = 'claimed'),
    changed_at = $1
FROM picked
WHERE o.key = picked.key AND o.status IN ('ready', 'claimed') AND o.sending_at IS NULL
