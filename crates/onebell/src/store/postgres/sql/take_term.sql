-- take_term: a new period, compared with the one that expired
UPDATE onebell.terms
SET holder = $2, epoch = $3, expires_at = $4
WHERE duty = $1 AND epoch = $3 - 1
