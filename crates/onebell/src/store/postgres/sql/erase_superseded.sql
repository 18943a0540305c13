-- erase_superseded: late results of a job's runs
DELETE FROM onebell.superseded WHERE run_id IN (SELECT run_id FROM onebell.runs WHERE job_id = $1)
