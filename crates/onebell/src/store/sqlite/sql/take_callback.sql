-- take_callback: what came back for a step that this claim holds, and that no attempt has ended by
UPDATE onebell_callbacks SET taken_by = :attempt
WHERE step_id = :step
  AND EXISTS (SELECT 1 FROM onebell_job_steps AS s
              WHERE s.step_id = :step AND s.attempt = :attempt AND s.locked_by = :replica AND s.status = 'running')
  AND NOT EXISTS (
          SELECT 1 FROM onebell_attempts AS h
          WHERE h.step_id = onebell_callbacks.step_id AND h.attempt = onebell_callbacks.taken_by
            AND h.outcome IN ('succeeded', 'delivering', 'failed', 'retry', 'exhausted'))
RETURNING body
