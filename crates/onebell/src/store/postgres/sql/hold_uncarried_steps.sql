-- hold_uncarried_steps: step pending → held (uncarried)
UPDATE onebell.job_steps s
SET status = 'held', uncarried = true, changed_at = $1,
    error = format('no live replica carries it (job %s, handler %s, queue %s)', s.job_id, s.handler, s.queue)
WHERE s.run_id = $2 AND s.status = 'pending' AND s.ready_at <= $1
  AND EXISTS (SELECT FROM onebell.runs r WHERE r.run_id = s.run_id AND r.status IN ('running', 'undoing'))
  AND NOT EXISTS (SELECT FROM onebell.replicas r
                  WHERE r.lost_at IS NULL AND r.left_at IS NULL
                    AND r.jobs ? s.job_id AND r.handlers ? s.handler AND r.queues ? s.queue)
