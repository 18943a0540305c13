-- read_lost_runs: the runs whose steps a replica holds
SELECT DISTINCT run_id
FROM onebell.job_steps
WHERE locked_by = $1 AND complete_by IS NOT NULL
