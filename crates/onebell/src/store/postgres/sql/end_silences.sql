-- end_silences: jobs succeeded: from now on they may be silent again, however the clock stands, and not since an instant of before
UPDATE onebell.vigils v
SET succeeded_at = n.at, since = least(v.since, n.at), expect_by = n.at + v.within_us * interval '1 microsecond', failures = 0
FROM (
    SELECT job_id, greatest(succeeded_at + interval '1 microsecond', $1) AS at FROM onebell.vigils WHERE job_id = ANY($2)
) n
WHERE v.job_id = n.job_id
