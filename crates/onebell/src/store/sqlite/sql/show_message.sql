-- show_message: a message for people
SELECT key, channel, status, on_in_doubt, attempt, tries, run_id, step_id, created_at, ready_at, sending_at, finished_at, locked_by,
       note, dropped_by, resent, payload
FROM onebell_outbox
WHERE key = :key
