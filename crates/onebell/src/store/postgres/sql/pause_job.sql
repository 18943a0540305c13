-- pause_job: pauses or resumes; compared with the cursor that was seen
UPDATE onebell.jobs
SET paused_at = $2, cursor = $3, next_slot = $4
WHERE job_id = $1 AND cursor = $5
