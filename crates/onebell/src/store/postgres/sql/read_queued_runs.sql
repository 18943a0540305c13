-- read_queued_runs: in the order of admission: a waiting slot, then the oldest
SELECT run_id
FROM onebell.runs
WHERE job_id = $1 AND finished_at IS NULL AND status = 'queued'
ORDER BY (origin = 'slot') DESC, created_at, scheduled_for NULLS FIRST, run_id
LIMIT $2
