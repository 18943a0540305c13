-- erase_attempts: history of a job
DELETE FROM onebell.attempts WHERE job_id = $1
