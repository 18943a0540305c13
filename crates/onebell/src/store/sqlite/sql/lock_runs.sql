-- lock_runs: the run as it stands, under the write lock
SELECT run_id, job_id, version, status, goal, reason, finish_by FROM onebell_runs WHERE run_id = :run
