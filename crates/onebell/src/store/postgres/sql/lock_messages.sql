-- lock_messages: locks messages that were put before, and reads what decides over putting them again
SELECT key, fingerprint, status, dropped_by, run_gone, step_id
FROM onebell.outbox
WHERE key = ANY($1)
ORDER BY key
FOR NO KEY UPDATE
