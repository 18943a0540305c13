-- read_step_rows: the rows that a succeeded step wrote
SELECT a.rows
FROM onebell_attempts AS a
WHERE a.step_id = :step AND a.rows IS NOT NULL AND a.outcome IN ('succeeded', 'delivering')
  AND EXISTS (SELECT 1 FROM onebell_attempts AS done WHERE done.step_id = a.step_id AND done.final = 'succeeded')
ORDER BY a.attempt DESC
LIMIT 1
