-- show_steps: the steps of a run, open ones and done ones; the error of an attempt before is not a running one's
SELECT step_id, name, rank, status, attempt, tries, locked_by, complete_by, ready_at,
    CASE WHEN status <> 'running' THEN error END AS error
FROM onebell.job_steps
WHERE run_id = $1
UNION ALL
(SELECT DISTINCT ON (step_id) step_id, name, rank, final, attempt, tries, NULL, NULL, NULL, error
FROM onebell.attempts
WHERE run_id = $1 AND final IS NOT NULL
ORDER BY step_id, attempt DESC)
