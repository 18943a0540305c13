-- lock_step: locks a running attempt, and reads whether its claim lapsed and whether its owner is live
SELECT s.step_id, s.run_id, s.attempt, s.locked_by, s.tries, s.retry::text AS retry, s.first_claimed_at,
    s.started_at IS NOT NULL AS started, s.on_lost, s.complete_by
FROM onebell.job_steps s
WHERE s.step_id = $1 AND s.attempt = $2 AND s.status = 'running'
FOR UPDATE
