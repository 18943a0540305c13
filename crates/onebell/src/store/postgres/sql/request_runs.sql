-- request_runs: asks for runs in which nothing moves although something should
-- A run has no attempt: a request that was granted before is asked again.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
)
INSERT INTO onebell.recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'run', stuck.run_id, 0, $2, (SELECT now FROM clock), 'nothing of it moves'
FROM (
    SELECT r.run_id
    FROM onebell.runs r
    WHERE r.finished_at IS NULL AND r.changed_at <= (SELECT now FROM clock) - $3 * interval '1 microsecond'
      AND NOT EXISTS (SELECT FROM onebell.recovery_requests q
                      WHERE q.kind = 'run' AND q.id = r.run_id AND q.attempt = 0 AND q.status = 'open')
      AND ((r.status IN ('running', 'failing', 'cancelling', 'undoing')
            AND NOT EXISTS (SELECT FROM onebell.job_steps s
                            WHERE s.run_id = r.run_id AND s.status IN ('pending', 'running', 'delivering')))
           OR (r.status = 'queued'
               AND NOT EXISTS (SELECT FROM onebell.runs a
                               WHERE a.job_id = r.job_id AND a.finished_at IS NULL
                                 AND a.status IN ('running', 'cancelling', 'failing', 'undoing'))))
    ORDER BY r.changed_at, r.run_id
    LIMIT $4
) stuck
ORDER BY stuck.run_id
ON CONFLICT (kind, id, attempt) DO UPDATE
SET status = 'open', granted_at = NULL, requested_by = excluded.requested_by, requested_at = excluded.requested_at
WHERE recovery_requests.status = 'granted'
