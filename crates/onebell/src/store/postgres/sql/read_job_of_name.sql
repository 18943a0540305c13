-- read_job_of_name: the id of the job that has this name now
SELECT job_id FROM onebell.jobs WHERE name = $1
