-- lock_messages: a message as it stands, under the write lock
SELECT key, fingerprint, status, attempt, tries, retry, first_claimed_at, on_in_doubt, run_gone, locked_by, complete_by,
       settled_by, dropped_by, step_id, sending_at
FROM onebell_outbox WHERE key = :key
