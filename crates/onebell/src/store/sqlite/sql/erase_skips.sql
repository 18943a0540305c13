-- erase_skips: skips of a job
DELETE FROM onebell_skips WHERE job_id = :job
