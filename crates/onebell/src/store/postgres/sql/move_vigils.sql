-- move_vigils: looked at: the next look of each; none: the silence is told
UPDATE onebell.vigils v
SET expect_by = m.expect_by, succeeded_at = m.succeeded_at
FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[]) AS m (job_id, expect_by, succeeded_at)
WHERE v.job_id = m.job_id
