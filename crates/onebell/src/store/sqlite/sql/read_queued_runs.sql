-- read_queued_runs: what waits for admission: a slot's run first, then the oldest
SELECT run_id FROM onebell_runs
WHERE job_id = :job AND finished_at IS NULL AND status = 'queued'
ORDER BY origin = 'slot' DESC, created_at, scheduled_for, run_id
LIMIT :limit
