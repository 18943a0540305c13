-- claim_messages: message ready → claimed (claim)
-- The update compares with what was locked, not with a constant: it must not be led away from the primary key.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
), picked AS MATERIALIZED (
    SELECT o.key, o.attempt, o.status
    FROM onebell.outbox o
    WHERE o.status = 'ready' AND o.ready_at <= (SELECT now FROM clock) AND o.channel = ANY($3)
    ORDER BY o.ready_at, o.key
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE onebell.outbox o
SET status = 'claimed', attempt = o.attempt + 1, tries = o.tries + 1, locked_by = $2, claimed_at = clock.now,
    first_claimed_at = coalesce(o.first_claimed_at, clock.now), complete_by = clock.now + $5 * interval '1 microsecond',
    resent = o.resent OR o.sending_at IS NOT NULL, settled_by = NULL, finished_at = NULL, changed_at = clock.now
FROM picked, clock
WHERE o.key = picked.key AND o.attempt = picked.attempt AND o.status = picked.status
RETURNING o.key, o.attempt, o.locked_by, o.channel, o.payload, o.on_in_doubt, o.tries, o.resent, o.complete_by,
    o.claimed_at, o.ready_at
