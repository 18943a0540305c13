-- insert_callback: what came back for a step that was begun and is not over, unless something waits for it already
INSERT INTO onebell_callbacks (step_id, id, run_id, fingerprint, body, received_at)
SELECT s.step_id, :id, s.run_id, :fingerprint, :body, :now
FROM onebell_job_steps AS s
WHERE s.step_id = :step AND s.attempt > 0
  AND NOT EXISTS (
      SELECT 1 FROM onebell_callbacks AS c
      WHERE c.step_id = :step AND NOT EXISTS (
          SELECT 1 FROM onebell_attempts AS h
          WHERE h.step_id = c.step_id AND h.attempt = c.taken_by
            AND h.outcome IN ('succeeded', 'delivering', 'failed', 'retry', 'exhausted')))
ON CONFLICT DO NOTHING
