-- list_messages: messages for people, in doubt first, then failed, then the newest
SELECT key, channel, status, on_in_doubt, attempt, tries, run_id, step_id, created_at, ready_at, sending_at, finished_at, locked_by,
       coalesce(note, CASE WHEN status = 'ready' AND NOT EXISTS (
           SELECT 1 FROM onebell_replicas AS r
           WHERE r.lost_at IS NULL AND r.left_at IS NULL AND channel IN (SELECT value FROM json_each(r.channels)))
           THEN 'no live replica carries its channel' END) AS note, dropped_by, resent, payload
FROM onebell_outbox
WHERE (:status IS NULL OR status = :status) AND (:run IS NULL OR run_id = :run)
ORDER BY CASE status WHEN 'in_doubt' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END, created_at DESC, key
LIMIT :limit
