-- erase_steps: open steps of a job
DELETE FROM onebell.job_steps WHERE job_id = $1
