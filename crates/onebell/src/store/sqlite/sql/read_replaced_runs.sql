-- read_replaced_runs: what a newer slot replaces: what is running, and a slot's run that waits
SELECT run_id FROM onebell_runs
WHERE job_id = :job AND finished_at IS NULL AND (status = 'running' OR (status = 'queued' AND origin = 'slot'))
ORDER BY run_id
