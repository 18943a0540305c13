-- lock_job: locks a job; what depends on its runs is read in a later statement
SELECT job_id, definition::text AS definition, version, cursor, pruned_before, paused_at
FROM onebell.jobs
WHERE job_id = $1
FOR NO KEY UPDATE
