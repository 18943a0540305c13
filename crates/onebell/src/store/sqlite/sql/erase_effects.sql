-- erase_effects: effects of a job's steps
DELETE FROM onebell_effects
WHERE step_id IN (SELECT step_id FROM onebell_job_steps WHERE job_id = :job
                  UNION ALL SELECT step_id FROM onebell_attempts WHERE job_id = :job)
