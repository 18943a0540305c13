-- request_carriers: asks for runs with steps that nobody has carried for a while, and with parked ones that somebody carries again
-- What went away just now counts as live: its successor may be on its way. The first in claim order are looked at: no other is claimed before them.
WITH clock AS MATERIALIZED (
    SELECT now, now - $4 * interval '1 microsecond' AS absent_since
    FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) c
), first AS MATERIALIZED (
    SELECT s.run_id, s.job_id, s.handler, s.queue
    FROM onebell.job_steps s
    WHERE s.status = 'pending' AND s.ready_at <= (SELECT absent_since FROM clock)
      AND EXISTS (SELECT FROM onebell.runs r WHERE r.run_id = s.run_id AND r.status IN ('running', 'undoing'))
      AND EXISTS (SELECT FROM onebell.replicas me, clock WHERE me.replica_id = $2 AND me.started_at <= clock.absent_since)
    ORDER BY s.priority DESC, s.ready_at, s.step_id
    LIMIT $5
), kinds AS MATERIALIZED (
    SELECT DISTINCT job_id, handler, queue FROM first
), uncarried AS MATERIALIZED (
    SELECT k.job_id, k.handler, k.queue
    FROM kinds k
    WHERE NOT EXISTS (SELECT FROM onebell.replicas r, clock
                      WHERE coalesce(r.lost_at, r.left_at, clock.now) > clock.absent_since
                        AND r.jobs ? k.job_id AND r.handlers ? k.handler AND r.queues ? k.queue)
), found AS (
    SELECT f.run_id, 'no live replica carries a step of it' AS reason
    FROM first f JOIN uncarried u ON u.job_id = f.job_id AND u.handler = f.handler AND u.queue = f.queue
    UNION ALL
    SELECT s.run_id, 'a step of it is carried again'
    FROM onebell.job_steps s
    WHERE s.status = 'held' AND s.uncarried
      AND EXISTS (SELECT FROM onebell.runs r
                  WHERE r.run_id = s.run_id AND r.finished_at IS NULL AND (r.goal IS NOT NULL) = (s.name LIKE '%~undo'))
      AND EXISTS (SELECT FROM onebell.replicas r
                  WHERE r.lost_at IS NULL AND r.left_at IS NULL
                    AND r.jobs ? s.job_id AND r.handlers ? s.handler AND r.queues ? s.queue)
)
INSERT INTO onebell.recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'run', run_id, 0, $2, (SELECT now FROM clock), min(reason)
FROM found
WHERE $3
GROUP BY run_id
ORDER BY run_id
LIMIT $5
ON CONFLICT (kind, id, attempt) DO UPDATE
SET status = 'open', granted_at = NULL, requested_by = excluded.requested_by, requested_at = excluded.requested_at,
    reason = excluded.reason
WHERE recovery_requests.status = 'granted'
