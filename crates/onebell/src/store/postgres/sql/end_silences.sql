-- end_silences: jobs succeeded: from now on they may be silent again
UPDATE onebell.vigils
SET succeeded_at = greatest(succeeded_at, $1), expect_by = greatest(succeeded_at, $1) + within_us * interval '1 microsecond',
    failures = 0
WHERE job_id = ANY($2)
