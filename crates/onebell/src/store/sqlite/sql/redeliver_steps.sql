-- redeliver_steps: step succeeded → delivering (redeliver)
-- A claimed message counts: it was on its way when the run failed, and goes out all the same. A step that others followed already had
-- been done without its messages, as its policy says: nothing waits for them now either.
UPDATE onebell_attempts SET final = NULL
WHERE run_id = :run AND final = 'succeeded'
  AND EXISTS (SELECT 1 FROM onebell_outbox AS o
              WHERE o.step_id = onebell_attempts.step_id AND o.run_id = :run AND o.status IN ('ready', 'claimed', 'sending'))
  AND NOT EXISTS (SELECT 1 FROM onebell_job_steps AS s, json_each(s.after) AS before
                  WHERE s.run_id = :run AND s.status <> 'waiting' AND before.value = onebell_attempts.name)
  AND NOT EXISTS (SELECT 1 FROM onebell_attempts AS f, json_each(f.after) AS before
                  WHERE f.run_id = :run AND f.final IS NOT NULL AND before.value = onebell_attempts.name)
RETURNING name, attempt
