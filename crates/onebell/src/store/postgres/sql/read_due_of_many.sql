-- read_due_of_many: a page of jobs that have a slot to be planned, whoever carries them, the most overdue first
SELECT j.job_id, j.definition::text AS definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
    ARRAY[]::text[] AS known_hashes, false AS carried
FROM onebell.jobs j
WHERE j.paused_at IS NULL AND j.next_slot <= (SELECT coalesce($1::timestamptz, clock_timestamp()))
  AND (j.next_slot, j.job_id) > ($2, $3)
ORDER BY j.next_slot, j.job_id
LIMIT $4
