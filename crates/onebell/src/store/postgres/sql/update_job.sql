-- update_job: another definition, planned from here; compared with what was seen
UPDATE onebell.jobs
SET name = $3, definition = $4::jsonb, version = $5, hash = $6, registered_by = $7,
    registered_at = (SELECT coalesce($1::timestamptz, clock_timestamp())), cursor = $8, next_slot = $9
WHERE job_id = $2 AND version = $10 AND cursor = $11
