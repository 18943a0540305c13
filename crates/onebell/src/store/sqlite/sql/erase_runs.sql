-- erase_runs: runs of a job
DELETE FROM onebell_runs WHERE job_id = :job
