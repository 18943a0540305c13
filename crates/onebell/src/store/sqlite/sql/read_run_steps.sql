-- read_run_steps: every step of a run, open and done
SELECT s.step_id, s.name, s.status, s.after, s.rank, s.undoable, s.attempt,
       s.status = 'held' AND EXISTS (SELECT 1 FROM onebell_attempts AS a
                                     WHERE a.step_id = s.step_id AND a.attempt = s.attempt AND a.outcome = 'delivering') AS delivered
FROM onebell_job_steps AS s WHERE s.run_id = :run
UNION ALL
SELECT step_id, name, final, after, rank, undoable, attempt, 0 FROM onebell_attempts WHERE run_id = :run AND final IS NOT NULL
ORDER BY rank, name
