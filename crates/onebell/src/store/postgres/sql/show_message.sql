-- show_message: one message
SELECT key, channel, status, on_in_doubt, attempt, tries, run_id, step_id, created_at, ready_at, sending_at, finished_at, locked_by,
    coalesce(note, CASE WHEN status = 'ready' AND NOT EXISTS (
        SELECT FROM onebell.replicas r WHERE r.lost_at IS NULL AND r.left_at IS NULL AND r.channels ? channel)
        THEN 'no live replica carries its channel' END) AS note, dropped_by, resent, payload
FROM onebell.outbox
WHERE key = $1
