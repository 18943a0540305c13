-- erase_superseded: late results of a job's runs
DELETE FROM onebell_superseded WHERE run_id IN (SELECT run_id FROM onebell_runs WHERE job_id = :job)
