-- erase_steps: open steps of a job
DELETE FROM onebell_job_steps WHERE job_id = :job
