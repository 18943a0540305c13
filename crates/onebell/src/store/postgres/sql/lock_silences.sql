-- lock_silences: locks vigils that are due, with the newest success that the history knows: a run that ended while somebody
-- began to ask has left no other trace
SELECT v.job_id, v.within_us, v.since,
    greatest(v.succeeded_at, (
        SELECT max(o.finished_at)
        FROM (SELECT r.finished_at FROM onebell.runs r WHERE r.job_id = v.job_id AND r.status = 'succeeded' OFFSET 0) o
    )) AS succeeded_at
FROM onebell.vigils v
WHERE v.job_id = ANY($1) AND v.expect_by IS NOT NULL AND v.expect_by < $2
ORDER BY v.job_id
FOR NO KEY UPDATE OF v
