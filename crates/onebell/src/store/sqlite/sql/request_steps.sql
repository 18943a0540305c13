-- request_steps: asks for running steps that are overdue or abandoned
INSERT INTO onebell_recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'step', step_id, attempt, :by, :now, CASE WHEN live THEN 'its claim lapsed' ELSE 'its replica is not live' END
FROM (SELECT s.step_id, s.attempt, s.complete_by,
             EXISTS (SELECT 1 FROM onebell_replicas AS r
                     WHERE r.replica_id = s.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL) AS live
      FROM onebell_job_steps AS s
      WHERE s.complete_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM onebell_recovery_requests AS q
                        WHERE q.kind = 'step' AND q.id = s.step_id AND q.attempt = s.attempt))
WHERE NOT live OR (:judge_time AND complete_by <= :now)
ORDER BY complete_by, step_id
LIMIT :limit
ON CONFLICT DO NOTHING
