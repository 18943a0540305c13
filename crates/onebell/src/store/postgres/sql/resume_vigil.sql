-- resume_vigil: a pause is no silence: it counts anew; one that was told stays told
UPDATE onebell.vigils
SET since = $2, expect_by = $2 + within_us * interval '1 microsecond'
WHERE job_id = $1 AND expect_by IS NOT NULL
