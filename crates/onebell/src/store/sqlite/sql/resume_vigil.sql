-- resume_vigil: a pause is no silence: it counts anew; one that was told stays told
UPDATE onebell_vigils SET since = :now, expect_by = :now + within_us WHERE job_id = :job AND expect_by IS NOT NULL
