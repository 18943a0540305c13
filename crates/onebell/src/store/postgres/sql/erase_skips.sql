-- erase_skips: skips of a job
DELETE FROM onebell.skips WHERE job_id = $1
