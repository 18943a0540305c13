-- move_vigils: looked at: the next look; none: the silence is told
UPDATE onebell_vigils SET expect_by = :expect_by, succeeded_at = :succeeded_at WHERE job_id = :job
