-- request_messages: asks for messages on their way that are overdue or abandoned, and for those in doubt that may be sent again
INSERT INTO onebell_recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'message', key, attempt, :by, :now,
       CASE WHEN complete_by IS NULL THEN 'in doubt, and may be sent again' WHEN live THEN 'its claim lapsed'
            ELSE 'its relay is not live' END
FROM (SELECT o.key, o.attempt, o.complete_by,
             EXISTS (SELECT 1 FROM onebell_replicas AS r
                     WHERE r.replica_id = o.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL) AS live
      FROM onebell_outbox AS o
      WHERE o.complete_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM onebell_recovery_requests AS q
                        WHERE q.kind = 'message' AND q.id = o.key AND q.attempt = o.attempt)
      UNION ALL
      SELECT o.key, o.attempt, NULL, 0
      FROM onebell_outbox AS o
      WHERE o.status IN ('in_doubt', 'failed') AND o.status = 'in_doubt' AND o.on_in_doubt = 'resend'
        AND NOT EXISTS (SELECT 1 FROM onebell_recovery_requests AS q
                        WHERE q.kind = 'message' AND q.id = o.key AND q.attempt = o.attempt))
WHERE NOT live OR (:judge_time AND complete_by <= :now)
ORDER BY complete_by, key
LIMIT :limit
ON CONFLICT DO NOTHING
