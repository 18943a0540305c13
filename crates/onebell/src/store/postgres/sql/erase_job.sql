-- erase_job: a job
DELETE FROM onebell.jobs WHERE job_id = $1
