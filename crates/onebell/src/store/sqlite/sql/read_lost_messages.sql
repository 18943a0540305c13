-- read_lost_messages: the messages that a replica had claimed
SELECT key, fingerprint, status, attempt, tries, retry, first_claimed_at, on_in_doubt, run_gone, locked_by, complete_by,
       settled_by, dropped_by, step_id, sending_at
FROM onebell_outbox
WHERE locked_by = :replica
ORDER BY key
