-- read_lost_steps: locks what a replica holds
SELECT step_id, run_id, attempt, locked_by, tries, retry::text AS retry, first_claimed_at, started_at IS NOT NULL AS started, on_lost
FROM onebell.job_steps
WHERE locked_by = $1 AND complete_by IS NOT NULL AND status = 'running'
ORDER BY step_id
FOR UPDATE
