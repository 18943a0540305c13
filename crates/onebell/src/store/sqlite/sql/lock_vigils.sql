-- lock_vigils: what a success of the job ends, under the write lock
SELECT failures, within_us IS NOT NULL AND expect_by IS NULL AS was_silent FROM onebell_vigils WHERE job_id = :job
