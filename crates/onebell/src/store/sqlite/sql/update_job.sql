-- update_job: another definition, compared with what was seen
UPDATE onebell_jobs
SET name = :name, definition = :definition, version = :version, hash = :hash, registered_by = :by, registered_at = :now,
    cursor = :cursor, next_slot = :next_slot
WHERE job_id = :job AND version = :version_seen AND cursor = :cursor_seen
