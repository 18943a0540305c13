-- take_up_steps: step held → pending (carried)
-- A step of a run that ends is not: it would run beside what undoes the others, or wait for ever in a run that is over.
UPDATE onebell_job_steps AS s
SET status = 'pending', uncarried = 0, error = NULL, ready_at = :now, changed_at = :now
WHERE s.run_id = :run AND s.status = 'held' AND s.uncarried = 1
  AND EXISTS (SELECT 1 FROM onebell_runs AS r
              WHERE r.run_id = s.run_id AND r.finished_at IS NULL AND (r.goal IS NOT NULL) = (s.name LIKE '%~undo'))
  AND EXISTS (SELECT 1 FROM onebell_replicas AS r
              WHERE r.lost_at IS NULL AND r.left_at IS NULL
                AND EXISTS (SELECT 1 FROM json_each(r.jobs) WHERE key = s.job_id)
                AND s.handler IN (SELECT value FROM json_each(r.handlers))
                AND s.queue IN (SELECT value FROM json_each(r.queues)))
