-- insert_job: a job that nobody registered yet
INSERT INTO onebell.jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot)
VALUES ($2, $3, $4::jsonb, 1, $5, $6, (SELECT coalesce($1::timestamptz, clock_timestamp())), $7, $8)
ON CONFLICT DO NOTHING
