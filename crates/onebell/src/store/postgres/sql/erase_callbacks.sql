-- erase_callbacks: what came back for a job's runs
DELETE FROM onebell.callbacks WHERE run_id IN (SELECT run_id FROM onebell.runs WHERE job_id = $1)
