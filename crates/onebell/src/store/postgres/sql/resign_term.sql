-- resign_term: ends the period at once and keeps its number
UPDATE onebell.terms t
SET expires_at = least(t.expires_at, clock.now)
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE t.duty = $2 AND t.holder = $3 AND t.epoch = $4
