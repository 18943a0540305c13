-- request_runs: asks for runs in which nothing moves although something should; a granted request of before is asked again
INSERT INTO onebell_recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'run', r.run_id, 0, :by, :now, 'nothing of it moves'
FROM onebell_runs AS r
WHERE r.finished_at IS NULL AND r.changed_at <= :stuck_since
  AND NOT EXISTS (SELECT 1 FROM onebell_recovery_requests AS q
                  WHERE q.kind = 'run' AND q.id = r.run_id AND q.attempt = 0 AND q.status = 'open')
  AND ((r.status IN ('running', 'failing', 'cancelling', 'undoing')
        AND NOT EXISTS (SELECT 1 FROM onebell_job_steps AS s
                        WHERE s.run_id = r.run_id AND s.status IN ('pending', 'running', 'delivering')))
       OR (r.status = 'queued'
           AND NOT EXISTS (SELECT 1 FROM onebell_runs AS a
                           WHERE a.job_id = r.job_id AND a.finished_at IS NULL
                             AND a.status IN ('running', 'cancelling', 'failing', 'undoing'))))
ORDER BY r.changed_at, r.run_id
LIMIT :limit
ON CONFLICT (kind, id, attempt) DO UPDATE
SET status = 'open', granted_at = NULL, requested_by = excluded.requested_by, requested_at = excluded.requested_at
WHERE onebell_recovery_requests.status = 'granted'
