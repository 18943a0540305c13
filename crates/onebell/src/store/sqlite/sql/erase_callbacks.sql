-- erase_callbacks: what came back for a job's runs
DELETE FROM onebell_callbacks WHERE run_id IN (SELECT run_id FROM onebell_runs WHERE job_id = :job)
