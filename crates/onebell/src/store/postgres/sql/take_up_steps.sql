-- take_up_steps: step held → pending (carried)
-- A step of a run that ends is not: it would run beside what undoes the others, or wait for ever in a run that is over.
UPDATE onebell.job_steps s
SET status = 'pending', uncarried = false, error = NULL, ready_at = $1, changed_at = $1
WHERE s.run_id = $2 AND s.status = 'held' AND s.uncarried
  AND EXISTS (SELECT FROM onebell.runs r
              WHERE r.run_id = s.run_id AND r.finished_at IS NULL AND (r.goal IS NOT NULL) = (s.name LIKE '%~undo'))
  AND EXISTS (SELECT FROM onebell.replicas r
              WHERE r.lost_at IS NULL AND r.left_at IS NULL
                AND r.jobs ? s.job_id AND r.handlers ? s.handler AND r.queues ? s.queue)
