-- erase_vigils: what was kept of a job's successes
DELETE FROM onebell_vigils WHERE job_id = :job
