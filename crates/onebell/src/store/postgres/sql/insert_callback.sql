-- insert_callback: what came back for a step that was begun and is not over, unless something waits for it already
INSERT INTO onebell.callbacks (step_id, id, run_id, fingerprint, body, received_at)
SELECT s.step_id, $3, s.run_id, $4, $5, (SELECT coalesce($1::timestamptz, clock_timestamp()))
FROM onebell.job_steps s
WHERE s.step_id = $2 AND s.attempt > 0
  AND NOT EXISTS (
      SELECT 1 FROM onebell.callbacks AS c
      WHERE c.step_id = $2 AND NOT EXISTS (
          SELECT 1 FROM onebell.attempts AS h
          WHERE h.step_id = c.step_id AND h.attempt = c.taken_by
            AND h.outcome IN ('succeeded', 'delivering', 'failed', 'retry', 'exhausted')))
ON CONFLICT DO NOTHING
RETURNING id
