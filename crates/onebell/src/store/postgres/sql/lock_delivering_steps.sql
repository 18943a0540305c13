-- lock_delivering_steps: locks steps that may be closed; `held` alone may also mean a loss: then no attempt delivered
SELECT s.step_id, s.status, s.on_message_failed,
    EXISTS (SELECT FROM onebell.attempts a
            WHERE a.step_id = s.step_id AND a.attempt = s.attempt AND a.outcome = 'delivering') AS delivered
FROM onebell.job_steps s
WHERE s.step_id = ANY($1) AND s.run_id = $2 AND s.status IN ('delivering', 'held')
ORDER BY s.step_id
FOR UPDATE OF s
