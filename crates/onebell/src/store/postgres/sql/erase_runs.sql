-- erase_runs: runs of a job
DELETE FROM onebell.runs WHERE job_id = $1
