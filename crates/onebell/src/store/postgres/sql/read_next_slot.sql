-- read_next_slot: the earliest next slot of carried jobs
SELECT min(next_slot) AS next_slot
FROM onebell.jobs
WHERE job_id = ANY($1) AND paused_at IS NULL AND next_slot IS NOT NULL
