-- read_next_slot: the earliest known slot of the carried jobs
SELECT min(next_slot) AS next_slot
FROM onebell_jobs
WHERE next_slot IS NOT NULL AND paused_at IS NULL AND job_id IN (SELECT value FROM json_each(:jobs))
