-- lock_free_jobs: locks those jobs that nobody else holds; what depends on their runs is read in a later statement
SELECT job_id, definition::text AS definition, version, cursor, pruned_before, paused_at
FROM onebell.jobs
WHERE job_id = ANY($1)
ORDER BY job_id
FOR NO KEY UPDATE SKIP LOCKED
