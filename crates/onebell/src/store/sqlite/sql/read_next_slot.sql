-- read_next_slot: the earliest known slot of the carried jobs
SELECT next_slot
FROM onebell_jobs INDEXED BY onebell_jobs_due
WHERE next_slot IS NOT NULL AND paused_at IS NULL AND job_id IN (SELECT value FROM json_each(:jobs))
ORDER BY next_slot
LIMIT 1
