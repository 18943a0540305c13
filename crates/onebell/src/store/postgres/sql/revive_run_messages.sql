-- revive_run_messages: message dropped → ready (revive)
-- A claimed one that was marked as gone with its run is only unmarked.
WITH picked AS MATERIALIZED (
    SELECT key
    FROM onebell.outbox
    WHERE run_id = $2 AND ((status = 'dropped' AND dropped_by = 'run') OR (status = 'claimed' AND run_gone))
    ORDER BY key
    FOR NO KEY UPDATE
)
UPDATE onebell.outbox o
SET status = CASE WHEN o.status = 'dropped' THEN 'ready' ELSE o.status END,
    ready_at = CASE WHEN o.status = 'dropped' THEN $1 ELSE o.ready_at END,
    tries = CASE WHEN o.status = 'dropped' THEN 0 ELSE o.tries END,
    first_claimed_at = CASE WHEN o.status = 'dropped' THEN NULL ELSE o.first_claimed_at END,
    finished_at = NULL, dropped_by = NULL, note = NULL, run_gone = false, changed_at = $1
FROM picked
WHERE o.key = picked.key AND ((o.status = 'dropped' AND o.dropped_by = 'run') OR (o.status = 'claimed' AND o.run_gone))
