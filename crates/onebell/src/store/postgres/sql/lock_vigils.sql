-- lock_vigils: locks vigils: what a success of each job ends, and where its failures are counted
SELECT job_id, failures, within_us IS NOT NULL AND expect_by IS NULL AS was_silent
FROM onebell.vigils
WHERE job_id = ANY($1)
ORDER BY job_id
FOR NO KEY UPDATE
