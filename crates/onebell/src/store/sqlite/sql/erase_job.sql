-- erase_job: a job
DELETE FROM onebell_jobs WHERE job_id = :job
