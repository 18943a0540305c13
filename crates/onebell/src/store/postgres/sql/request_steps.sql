-- request_steps: asks for running steps that are overdue or abandoned
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
), overdue AS (
    SELECT s.step_id, s.attempt, 'its claim lapsed' AS reason
    FROM onebell.job_steps s
    WHERE $3 AND s.complete_by IS NOT NULL AND s.complete_by <= (SELECT now FROM clock)
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q WHERE q.kind = 'step' AND q.id = s.step_id AND q.attempt = s.attempt)
    ORDER BY s.complete_by
    LIMIT $4
), abandoned AS (
    SELECT s.step_id, s.attempt, 'its replica is not live' AS reason
    FROM onebell.job_steps s
    WHERE s.complete_by IS NOT NULL
      AND NOT EXISTS (SELECT FROM onebell.replicas r WHERE r.replica_id = s.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL)
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q WHERE q.kind = 'step' AND q.id = s.step_id AND q.attempt = s.attempt)
    ORDER BY s.complete_by
    LIMIT $4
)
INSERT INTO onebell.recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'step', found.step_id, found.attempt, $2, (SELECT now FROM clock), min(found.reason)
FROM (SELECT * FROM overdue UNION ALL SELECT * FROM abandoned) found
GROUP BY found.step_id, found.attempt
ORDER BY found.step_id, found.attempt
LIMIT $4
ON CONFLICT DO NOTHING
