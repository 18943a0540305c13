-- question_messages: message ready, claimed, sending → in_doubt (question)
-- Those of steps that no person has let go (that clears the first claim): an alarm is better told twice than not at all. It may be out already: sent again, it is at least once.
WITH picked AS MATERIALIZED (
    SELECT o.key, o.status
    FROM onebell.outbox o
    WHERE o.status IN ('ready', 'claimed', 'sending') AND o.on_in_doubt = 'hold' AND o.step_id IS NOT NULL
      AND NOT (o.status = 'ready' AND o.first_claimed_at IS NULL AND o.sending_at IS NOT NULL)
      AND NOT EXISTS (SELECT FROM onebell.replicas r
                      WHERE r.replica_id = o.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL
                        AND r.beat_at + r.lease_us * interval '1 microsecond' > $1)
    ORDER BY o.key
    LIMIT $2
    FOR NO KEY UPDATE OF o
)
UPDATE onebell.outbox o
SET status = 'in_doubt', note = $3, sending_at = coalesce(o.sending_at, $1), settled_by = NULL,
    locked_by = NULL, claimed_at = NULL, complete_by = NULL, changed_at = $1
FROM picked
WHERE o.key = picked.key AND o.status = picked.status
RETURNING o.key
