-- count_failures: a failure was told
UPDATE onebell_vigils SET failures = failures + 1 WHERE job_id = :job
