-- lock_job_runs: locks all runs of a job that goes
SELECT run_id FROM onebell.runs WHERE job_id = $1 ORDER BY run_id FOR UPDATE
