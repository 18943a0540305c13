-- lock_prunable_runs: locks what is about to go, as far as it is still finished
SELECT run_id
FROM onebell.runs
WHERE run_id = ANY($1) AND finished_at <= $2
ORDER BY run_id
FOR UPDATE
