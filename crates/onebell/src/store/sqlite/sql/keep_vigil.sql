-- keep_vigil: somebody asks whether the job succeeds; silence counts from its newest known success, else from now
INSERT INTO onebell_vigils AS v (job_id, within_us, since, succeeded_at, expect_by)
SELECT :job, :within_us, coalesce(h.newest, :now), h.newest, coalesce(h.newest, :now) + :within_us
FROM (SELECT max(finished_at) AS newest FROM onebell_runs WHERE job_id = :job AND status = 'succeeded') AS h
WHERE true
ON CONFLICT (job_id) DO UPDATE
SET within_us = excluded.within_us,
    expect_by = CASE WHEN v.within_us IS NOT NULL AND v.expect_by IS NULL THEN NULL
                     ELSE max(v.since, coalesce(v.succeeded_at, v.since)) + excluded.within_us END
