-- insert_runs: opened runs, all queued; one that exists already is neither written nor an error
INSERT INTO onebell.runs (run_id, job_id, version, scheduled_for, origin, status, input, finish_by, created_at, changed_at)
SELECT run_id, job_id, version, scheduled_for, origin, 'queued', input, finish_by, $1, $1
FROM unnest($2::text[], $3::bigint[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::timestamptz[])
    AS r (job_id, version, run_id, scheduled_for, origin, input, finish_by)
ORDER BY run_id COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING run_id
