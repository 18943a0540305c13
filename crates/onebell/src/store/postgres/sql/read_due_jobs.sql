-- read_due_jobs: carried jobs that have a slot to be planned, the most overdue first
SELECT j.job_id, j.definition::text AS definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
    ARRAY[]::text[] AS known_hashes, false AS carried
FROM onebell.jobs j
WHERE j.job_id = ANY($2) AND j.paused_at IS NULL AND j.next_slot <= (SELECT coalesce($1::timestamptz, clock_timestamp()))
ORDER BY j.next_slot, j.job_id
LIMIT $3
