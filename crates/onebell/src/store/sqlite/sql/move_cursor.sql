-- move_cursor: planning goes on, compared with what was seen
UPDATE onebell_jobs
SET cursor = :cursor, next_slot = :next_slot
WHERE job_id = :job AND version = :version AND cursor = :cursor_seen
