-- read_run_steps: every step of a run, open and done
SELECT step_id, name, status, after, rank, undoable, attempt FROM onebell_job_steps WHERE run_id = :run
UNION ALL
SELECT step_id, name, final, after, rank, undoable, attempt FROM onebell_attempts WHERE run_id = :run AND final IS NOT NULL
ORDER BY rank, name
