-- read_attempt: how attempts ended, for claims that do not hold
SELECT c.step_id, c.attempt, a.replica, a.outcome
FROM unnest($1::text[], $2::bigint[]) AS c (step_id, attempt)
CROSS JOIN LATERAL (SELECT * FROM onebell.attempts h WHERE h.step_id = c.step_id AND h.attempt = c.attempt OFFSET 0) a
