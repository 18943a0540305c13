-- move_cursor: planning goes on from here; compared with version and cursor that were seen
UPDATE onebell.jobs
SET cursor = $2, next_slot = $3
WHERE job_id = $1 AND version = $4 AND cursor = $5
