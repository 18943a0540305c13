-- erase_attempts: history of a job
DELETE FROM onebell_attempts WHERE job_id = :job
