-- hold_term: keeps the term ours until the end of the transaction
SELECT duty
FROM onebell.terms
WHERE duty = $1 AND holder = $2 AND epoch = $3
FOR SHARE
