-- read_prunable_runs: finished runs older than the retention, without an unfinished message
SELECT r.run_id, r.job_id, r.scheduled_for
FROM onebell_runs AS r
WHERE r.finished_at <= :before AND r.job_id IN (SELECT value FROM json_each(:jobs))
  AND NOT EXISTS (SELECT 1 FROM onebell_outbox AS o
                  WHERE o.run_id = r.run_id AND o.status IN ('ready', 'claimed', 'sending', 'in_doubt'))
ORDER BY r.finished_at
LIMIT :limit
