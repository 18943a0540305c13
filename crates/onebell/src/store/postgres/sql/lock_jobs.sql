-- lock_jobs: locks the jobs whose mark is about to move
SELECT job_id FROM onebell.jobs WHERE job_id = ANY($1) ORDER BY job_id FOR NO KEY UPDATE
