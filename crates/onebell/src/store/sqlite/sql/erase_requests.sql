-- erase_requests: recovery requests of a job's runs, steps and messages
DELETE FROM onebell_recovery_requests
WHERE (kind = 'run' AND id IN (SELECT run_id FROM onebell_runs WHERE job_id = :job))
   OR (kind = 'step' AND id IN (SELECT step_id FROM onebell_job_steps WHERE job_id = :job
                                UNION ALL SELECT step_id FROM onebell_attempts WHERE job_id = :job))
   OR (kind = 'message' AND id IN (SELECT key FROM onebell_outbox WHERE job_id = :job))
