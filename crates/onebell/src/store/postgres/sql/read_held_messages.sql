-- read_held_messages: the messages that a replica holds and has not begun to send
SELECT key, attempt, locked_by, channel, payload, on_in_doubt, tries, resent, complete_by, claimed_at, ready_at
FROM onebell.outbox
WHERE locked_by = $1 AND complete_by IS NOT NULL AND status = 'claimed'
ORDER BY ready_at, key
