-- pause_job: pauses or resumes, compared with what was seen
UPDATE onebell_jobs
SET paused_at = :paused_at, cursor = :cursor, next_slot = :next_slot
WHERE job_id = :job AND version = :version_seen AND cursor = :cursor_seen
