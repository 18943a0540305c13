-- erase_requests: recovery requests of a job's runs, steps and messages
DELETE FROM onebell.recovery_requests
WHERE (kind = 'run' AND id IN (SELECT run_id FROM onebell.runs WHERE job_id = $1))
   OR (kind = 'step' AND id IN (SELECT step_id FROM onebell.job_steps WHERE job_id = $1
                                UNION ALL SELECT step_id FROM onebell.attempts WHERE job_id = $1))
   OR (kind = 'message' AND id IN (SELECT key FROM onebell.outbox WHERE job_id = $1))
