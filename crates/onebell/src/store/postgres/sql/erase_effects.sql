-- erase_effects: effects of a job's steps
DELETE FROM onebell.effects
WHERE step_id IN (SELECT step_id FROM onebell.job_steps WHERE job_id = $1
                  UNION ALL SELECT step_id FROM onebell.attempts WHERE job_id = $1)
