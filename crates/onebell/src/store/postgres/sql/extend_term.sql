-- extend_term: a pass of the duty completed
UPDATE onebell.terms
SET expires_at = (SELECT coalesce($1::timestamptz, clock_timestamp())) + $5 * interval '1 microsecond'
WHERE duty = $2 AND holder = $3 AND epoch = $4
