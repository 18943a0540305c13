-- keep_vigil: somebody asks whether the job succeeds; silence counts from its newest known success, else from now
-- OFFSET 0 keeps the look at the job's own runs: the newest success of all jobs is no way to it.
INSERT INTO onebell.vigils AS v (job_id, within_us, since, succeeded_at, expect_by)
SELECT $2, $3, coalesce(h.newest, n.now), h.newest, coalesce(h.newest, n.now) + $3 * interval '1 microsecond'
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now OFFSET 0) n
CROSS JOIN (
    SELECT max(o.finished_at) AS newest
    FROM (SELECT r.finished_at FROM onebell.runs r WHERE r.job_id = $2 AND r.status = 'succeeded' OFFSET 0) o
) h
ON CONFLICT (job_id) DO UPDATE
SET within_us = excluded.within_us,
    expect_by = CASE WHEN v.within_us IS NOT NULL AND v.expect_by IS NULL THEN NULL
                     ELSE greatest(v.since, v.succeeded_at) + excluded.within_us * interval '1 microsecond' END
