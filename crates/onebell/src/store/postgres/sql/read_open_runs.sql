-- read_open_runs: runs with something that may go on, and those that may start; not what a person was asked about and has let go
SELECT r.job_id, r.run_id FROM onebell.runs r
WHERE r.finished_at IS NULL
  AND CASE WHEN r.status = 'queued'
           THEN NOT EXISTS (SELECT FROM onebell.job_steps s WHERE s.run_id = r.run_id AND s.status = 'pending' AND s.error = $2)
           ELSE EXISTS (SELECT FROM onebell.job_steps s
                        WHERE s.run_id = r.run_id
                          AND (s.status = 'running' OR s.status = 'pending' AND s.error IS DISTINCT FROM $2))
      END
ORDER BY r.job_id, r.run_id
LIMIT $1
