-- end_silences: the job succeeded: from now on it may be silent again, however the clock stands, and not since an instant of before
UPDATE onebell_vigils
SET succeeded_at = n.at, since = min(since, n.at), expect_by = n.at + within_us, failures = 0
FROM (SELECT max(coalesce(succeeded_at + 1, :now), :now) AS at FROM onebell_vigils WHERE job_id = :job) AS n
WHERE job_id = :job
