-- lock_job_for_erasure: locks a job that goes
SELECT job_id FROM onebell.jobs WHERE job_id = $1 FOR UPDATE
