-- read_prunable_runs: finished runs older than they are kept, whose messages are finished; a look, they are locked next
SELECT r.run_id, r.job_id
FROM onebell.runs r
WHERE r.finished_at <= $1 AND r.job_id = ANY($2)
  AND NOT EXISTS (SELECT FROM onebell.outbox o
                  WHERE o.run_id = r.run_id AND o.status IN ('ready', 'claimed', 'sending', 'in_doubt'))
ORDER BY r.finished_at
LIMIT $3
