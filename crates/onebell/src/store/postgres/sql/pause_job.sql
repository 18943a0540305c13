-- pause_job: pauses or resumes; compared with version and cursor that were seen
UPDATE onebell.jobs
SET paused_at = $2, cursor = $3, next_slot = $4
WHERE job_id = $1 AND version = $5 AND cursor = $6
