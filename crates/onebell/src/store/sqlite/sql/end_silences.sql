-- end_silences: the job succeeded: from now on it may be silent again
UPDATE onebell_vigils
SET succeeded_at = max(coalesce(succeeded_at, :now), :now), expect_by = max(coalesce(succeeded_at, :now), :now) + within_us,
    failures = 0
WHERE job_id = :job
