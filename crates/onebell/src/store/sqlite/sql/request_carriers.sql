-- request_carriers: asks for runs with steps that nobody has carried for a while, and with parked ones that somebody carries again
-- What went away just now counts as live: its successor may be on its way. The first in claim order are looked at: no other is claimed before them.
WITH first AS MATERIALIZED (
    SELECT s.run_id, s.job_id, s.handler, s.queue
    FROM onebell_job_steps AS s
    CROSS JOIN onebell_runs AS r ON r.run_id = s.run_id
    WHERE s.status = 'pending' AND s.ready_at <= :absent_since AND r.status IN ('running', 'undoing')
      AND EXISTS (SELECT 1 FROM onebell_replicas AS me WHERE me.replica_id = :by AND me.started_at <= :absent_since)
    ORDER BY s.priority DESC, s.ready_at, s.step_id
    LIMIT :limit
), kinds AS MATERIALIZED (
    SELECT DISTINCT job_id, handler, queue FROM first
), uncarried AS (
    SELECT k.job_id, k.handler, k.queue
    FROM kinds AS k
    WHERE NOT EXISTS (SELECT 1 FROM onebell_replicas AS r
                      WHERE coalesce(r.lost_at, r.left_at, :now) > :absent_since
                        AND EXISTS (SELECT 1 FROM json_each(r.jobs) WHERE key = k.job_id)
                        AND k.handler IN (SELECT value FROM json_each(r.handlers))
                        AND k.queue IN (SELECT value FROM json_each(r.queues)))
), found AS (
    SELECT f.run_id, 'no live replica carries a step of it' AS reason
    FROM first AS f JOIN uncarried AS u ON u.job_id = f.job_id AND u.handler = f.handler AND u.queue = f.queue
    UNION
    SELECT s.run_id, 'a step of it is carried again'
    FROM onebell_job_steps AS s
    WHERE s.status = 'held' AND s.uncarried = 1
      AND EXISTS (SELECT 1 FROM onebell_runs AS r
                  WHERE r.run_id = s.run_id AND r.finished_at IS NULL AND (r.goal IS NOT NULL) = (s.name LIKE '%~undo'))
      AND EXISTS (SELECT 1 FROM onebell_replicas AS r
                  WHERE r.lost_at IS NULL AND r.left_at IS NULL
                    AND EXISTS (SELECT 1 FROM json_each(r.jobs) WHERE key = s.job_id)
                    AND s.handler IN (SELECT value FROM json_each(r.handlers))
                    AND s.queue IN (SELECT value FROM json_each(r.queues)))
)
INSERT INTO onebell_recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'run', run_id, 0, :by, :now, min(reason)
FROM found
WHERE :judge_time
GROUP BY run_id
ORDER BY run_id
LIMIT :limit
ON CONFLICT (kind, id, attempt) DO UPDATE
SET status = 'open', granted_at = NULL, requested_by = excluded.requested_by, requested_at = excluded.requested_at,
    reason = excluded.reason
WHERE onebell_recovery_requests.status = 'granted'
