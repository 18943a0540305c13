-- claim_messages: message ready → claimed (claim)
WITH picked AS MATERIALIZED (
    SELECT key FROM onebell_outbox
    WHERE status = 'ready' AND ready_at <= :now AND channel IN (SELECT value FROM json_each(:channels))
    ORDER BY ready_at, key
    LIMIT :limit
)
UPDATE onebell_outbox
SET status = 'claimed', attempt = attempt + 1, tries = tries + 1, locked_by = :replica, claimed_at = :now,
    complete_by = :complete_by, first_claimed_at = coalesce(first_claimed_at, :now), settled_by = NULL,
    resent = max(resent, sending_at IS NOT NULL), changed_at = :now
WHERE key IN (SELECT key FROM picked) AND status = 'ready'
RETURNING key
