-- insert_job: a job that nobody registered yet
INSERT INTO onebell.jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot, paused_at)
SELECT $2, $3, $4::jsonb, 1, $5, $6, clock.now, $7, $8, CASE WHEN $9 THEN clock.now END
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
ON CONFLICT DO NOTHING
