-- read_silences: jobs that may have been silent for too long, and nobody was told
SELECT job_id
FROM onebell.vigils
WHERE expect_by IS NOT NULL AND expect_by < (SELECT coalesce($1::timestamptz, clock_timestamp()))
ORDER BY expect_by
LIMIT $2
