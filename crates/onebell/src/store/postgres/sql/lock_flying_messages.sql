-- lock_flying_messages: locks messages and reads what decides over the end of their attempts
SELECT key, status, attempt, tries, retry::text AS retry, first_claimed_at, on_in_doubt, run_gone, locked_by, settled_by, complete_by
FROM onebell.outbox
WHERE key = ANY($1)
ORDER BY key
FOR NO KEY UPDATE
