-- read_run_steps: the steps of runs, open ones and done ones (the newest final row of the history)
SELECT run_id, step_id, name, status, after::text AS after, rank, undoable, attempt, true AS open
FROM onebell.job_steps
WHERE run_id = ANY($1)
UNION ALL
(SELECT DISTINCT ON (step_id) run_id, step_id, name, final, after::text, rank, undoable, attempt, false
FROM onebell.attempts
WHERE run_id = ANY($1) AND final IS NOT NULL
ORDER BY step_id, attempt DESC)
