-- read_run_steps: every step of a run, open and done; whether work of one that did not succeed is committed
SELECT s.step_id, s.name, s.status, s.after, s.rank, s.undoable, s.attempt,
       s.status IN ('held', 'failed', 'exhausted', 'pending')
           AND EXISTS (SELECT 1 FROM onebell_attempts AS a WHERE a.step_id = s.step_id AND a.outcome = 'delivering') AS delivered
FROM onebell_job_steps AS s WHERE s.run_id = :run
UNION ALL
SELECT f.step_id, f.name, f.final, f.after, f.rank, f.undoable, f.attempt,
       f.final = 'cancelled'
           AND EXISTS (SELECT 1 FROM onebell_attempts AS a WHERE a.step_id = f.step_id AND a.outcome = 'delivering')
FROM onebell_attempts AS f WHERE f.run_id = :run AND f.final IS NOT NULL
ORDER BY rank, name
