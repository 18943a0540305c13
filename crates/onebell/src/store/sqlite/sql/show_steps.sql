-- show_steps: steps of a run for people, open and done, undo steps last; the error of an attempt before is not a running one's
SELECT step_id, name, rank, status, attempt, tries, locked_by, complete_by, ready_at,
       CASE WHEN status <> 'running' THEN error END AS error, name LIKE '%~undo' AS undo
FROM onebell_job_steps WHERE run_id = :run
UNION ALL
SELECT step_id, name, rank, final, attempt, tries, NULL, NULL, NULL, error, name LIKE '%~undo'
FROM onebell_attempts WHERE run_id = :run AND final IS NOT NULL
ORDER BY undo, rank, name
