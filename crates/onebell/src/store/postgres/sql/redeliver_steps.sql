-- redeliver_steps: step succeeded → delivering (redeliver)
-- A claimed message counts: it was on its way when the run failed, and goes out all the same. A step that others followed already had
-- been done without its messages, as its policy says: nothing waits for them now either.
UPDATE onebell.attempts a
SET final = NULL
WHERE a.run_id = $1 AND a.final = 'succeeded'
  AND EXISTS (SELECT FROM onebell.outbox m
              WHERE m.step_id = a.step_id AND m.run_id = $1 AND m.status IN ('ready', 'claimed', 'sending'))
  AND NOT EXISTS (SELECT FROM onebell.job_steps s WHERE s.run_id = $1 AND s.status <> 'waiting' AND s.after ? a.name)
  AND NOT EXISTS (SELECT FROM onebell.attempts f WHERE f.run_id = $1 AND f.final IS NOT NULL AND f.after ? a.name)
RETURNING a.name, a.attempt
