-- read_claimed_messages: what a relay needs of the messages it has just claimed
SELECT key, attempt, locked_by, channel, payload, on_in_doubt, tries, resent, complete_by, claimed_at
FROM onebell_outbox
WHERE key IN (SELECT value FROM json_each(:keys)) AND +locked_by = :replica AND status = 'claimed'
ORDER BY ready_at, key
