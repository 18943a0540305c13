-- request_messages: asks for messages on their way that are overdue or abandoned, and for those in doubt that may be sent again
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
), overdue AS (
    SELECT o.key, o.attempt, 'its claim lapsed' AS reason
    FROM onebell.outbox o
    WHERE $3 AND o.complete_by IS NOT NULL AND o.complete_by <= (SELECT now FROM clock)
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q WHERE q.kind = 'message' AND q.id = o.key AND q.attempt = o.attempt)
    ORDER BY o.complete_by
    LIMIT $4
), abandoned AS (
    SELECT o.key, o.attempt, 'its relay is not live' AS reason
    FROM onebell.outbox o
    WHERE o.complete_by IS NOT NULL
      AND NOT EXISTS (SELECT FROM onebell.replicas r WHERE r.replica_id = o.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL)
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q WHERE q.kind = 'message' AND q.id = o.key AND q.attempt = o.attempt)
    ORDER BY o.complete_by
    LIMIT $4
), doubtful AS (
    SELECT o.key, o.attempt, 'in doubt, and may be sent again' AS reason
    FROM onebell.outbox o
    WHERE o.status = 'in_doubt' AND o.on_in_doubt = 'resend'
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q WHERE q.kind = 'message' AND q.id = o.key AND q.attempt = o.attempt)
    ORDER BY o.changed_at
    LIMIT $4
)
INSERT INTO onebell.recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'message', found.key, found.attempt, $2, (SELECT now FROM clock), min(found.reason)
FROM (SELECT * FROM overdue UNION ALL SELECT * FROM abandoned UNION ALL SELECT * FROM doubtful) found
GROUP BY found.key, found.attempt
ORDER BY found.key, found.attempt
LIMIT $4
ON CONFLICT DO NOTHING
