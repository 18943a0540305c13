-- find_step: the run and the owner of a running attempt
SELECT s.run_id, s.locked_by
FROM onebell.job_steps s
WHERE s.step_id = $1 AND s.attempt = $2 AND s.status = 'running'
