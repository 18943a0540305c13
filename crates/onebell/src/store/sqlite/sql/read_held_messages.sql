-- read_held_messages: all that a replica has claimed and not begun to send
SELECT key, attempt, locked_by, channel, payload, on_in_doubt, tries, resent, complete_by, claimed_at
FROM onebell_outbox
WHERE locked_by = :replica AND status = 'claimed'
ORDER BY ready_at, key
