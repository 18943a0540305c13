-- erase_vigils: what was kept of a job's successes
DELETE FROM onebell.vigils WHERE job_id = $1
