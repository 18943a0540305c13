-- lock_runs: locks runs and reads them; what follows inside them is decided in a later statement
SELECT run_id, job_id, version, status, goal, reason, finish_by
FROM onebell.runs
WHERE run_id = ANY($1)
ORDER BY run_id
FOR NO KEY UPDATE
