-- take_callback: what came back for a step that this claim holds, and that no attempt has ended by
UPDATE onebell.callbacks AS c SET taken_by = $2
WHERE c.step_id = $1
  AND EXISTS (SELECT 1 FROM onebell.job_steps AS s
              WHERE s.step_id = $1 AND s.attempt = $2 AND s.locked_by = $3 AND s.status = 'running')
  AND NOT EXISTS (
          SELECT 1 FROM onebell.attempts AS h
          WHERE h.step_id = c.step_id AND h.attempt = c.taken_by
            AND h.outcome IN ('succeeded', 'delivering', 'failed', 'retry', 'exhausted'))
RETURNING c.body
