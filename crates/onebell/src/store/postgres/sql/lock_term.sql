-- lock_term: locks a duty's term for who wants it
SELECT holder, epoch, expires_at
FROM onebell.terms
WHERE duty = $1
FOR NO KEY UPDATE
