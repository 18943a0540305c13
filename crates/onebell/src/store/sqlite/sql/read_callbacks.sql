-- read_callbacks: what another callback meets: the one of its id, or the one that waits
SELECT c.fingerprint
FROM onebell_callbacks AS c
WHERE c.step_id = :step
  AND (c.id = :id OR NOT EXISTS (
          SELECT 1 FROM onebell_attempts AS h
          WHERE h.step_id = c.step_id AND h.attempt = c.taken_by
            AND h.outcome IN ('succeeded', 'delivering', 'failed', 'retry', 'exhausted')))
ORDER BY c.id = :id DESC
LIMIT 1
