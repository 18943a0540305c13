-- hold_uncarried_steps: step pending → held (uncarried)
UPDATE onebell_job_steps AS s
SET status = 'held', uncarried = 1, changed_at = :now,
    error = 'no live replica carries it (job ' || s.job_id || ', handler ' || s.handler || ', queue ' || s.queue || ')'
WHERE s.run_id = :run AND s.status = 'pending' AND s.ready_at <= :now
  AND EXISTS (SELECT 1 FROM onebell_runs AS r WHERE r.run_id = s.run_id AND r.status IN ('running', 'undoing'))
  AND NOT EXISTS (SELECT 1 FROM onebell_replicas AS r
                  WHERE r.lost_at IS NULL AND r.left_at IS NULL
                    AND EXISTS (SELECT 1 FROM json_each(r.jobs) WHERE key = s.job_id)
                    AND s.handler IN (SELECT value FROM json_each(r.handlers))
                    AND s.queue IN (SELECT value FROM json_each(r.queues)))
