-- read_lost_messages: locks the messages that a replica holds
SELECT key, status, attempt, tries, retry::text AS retry, first_claimed_at, on_in_doubt, run_gone, locked_by, settled_by, complete_by
FROM onebell.outbox
WHERE locked_by = $1 AND complete_by IS NOT NULL
ORDER BY key
FOR NO KEY UPDATE
