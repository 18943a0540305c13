-- read_closable_steps: delivering steps, and steps held for a message in doubt, none of whose messages is open
SELECT s.step_id, s.run_id, s.job_id, s.name, s.rank, s.undoable, s.after, s.status, s.attempt, s.tries, s.retry, s.on_lost,
       s.on_message_failed, s.first_claimed_at, s.locked_by, s.claimed_at, s.started_at, s.complete_by,
       EXISTS (SELECT 1 FROM onebell_outbox AS o WHERE o.step_id = s.step_id AND o.status = 'in_doubt') AS in_doubt,
       (SELECT count(*) FROM onebell_outbox AS o WHERE o.step_id = s.step_id AND o.status = 'failed') AS failed
FROM onebell_job_steps AS s
WHERE s.status IN ('delivering', 'held') AND s.uncarried = 0
  AND NOT EXISTS (SELECT 1 FROM onebell_outbox AS o
                  WHERE o.step_id = s.step_id AND o.status IN ('ready', 'claimed', 'sending'))
  AND NOT EXISTS (SELECT 1 FROM onebell_outbox AS o
                  WHERE o.step_id = s.step_id AND o.status = 'in_doubt' AND (o.on_in_doubt = 'resend' OR s.status = 'held'))
  AND (s.status = 'delivering' OR EXISTS (SELECT 1 FROM onebell_attempts AS a
                                          WHERE a.step_id = s.step_id AND a.attempt = s.attempt AND a.outcome = 'delivering'))
ORDER BY s.changed_at, s.step_id
LIMIT :limit
