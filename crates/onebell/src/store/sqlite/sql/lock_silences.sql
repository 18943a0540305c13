-- lock_silences: a vigil that is due, with the newest success that the history knows, under the write lock
SELECT v.within_us, v.since,
       nullif(max(coalesce(v.succeeded_at, -1), coalesce(
           (SELECT max(r.finished_at) FROM onebell_runs AS r WHERE r.job_id = v.job_id AND r.status = 'succeeded'), -1)), -1) AS succeeded_at
FROM onebell_vigils AS v
WHERE v.job_id = :job AND v.expect_by IS NOT NULL AND v.expect_by < :now
