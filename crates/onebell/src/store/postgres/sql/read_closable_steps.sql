-- read_closable_steps: steps that delivered, or were held for a message in doubt, none of whose messages is open
SELECT s.run_id, s.step_id
FROM onebell.job_steps s
WHERE s.status IN ('delivering', 'held') AND NOT s.uncarried
  AND NOT EXISTS (SELECT FROM onebell.outbox m WHERE m.step_id = s.step_id
                  AND (m.status IN ('ready', 'claimed', 'sending') OR (m.status = 'in_doubt' AND m.on_in_doubt = 'resend')))
  AND (s.status = 'delivering'
       OR (NOT EXISTS (SELECT FROM onebell.outbox m WHERE m.step_id = s.step_id AND m.status = 'in_doubt')
           AND EXISTS (SELECT FROM onebell.attempts a
                       WHERE a.step_id = s.step_id AND a.attempt = s.attempt AND a.outcome = 'delivering')))
ORDER BY s.changed_at, s.step_id
LIMIT $1
