-- read_job_of_name: which job has a name
SELECT job_id FROM onebell_jobs WHERE name = :name
