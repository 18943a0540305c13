-- read_attempt: how attempts ended, for claims that do not hold
SELECT a.step_id, a.attempt, a.replica, a.outcome
FROM unnest($1::text[], $2::bigint[]) AS c (step_id, attempt)
JOIN onebell.attempts a ON a.step_id = c.step_id AND a.attempt = c.attempt
