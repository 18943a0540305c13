-- question_messages: message ready, claimed, sending → in_doubt (question)
-- Those of steps that no person has let go (that clears the first claim): an alarm is better told twice than not at all. It may be out already: sent again, it is at least once.
UPDATE onebell_outbox
SET status = 'in_doubt', note = :note, sending_at = coalesce(sending_at, :now), settled_by = NULL,
    locked_by = NULL, claimed_at = NULL, complete_by = NULL, changed_at = :now
WHERE key IN (SELECT o.key FROM onebell_outbox AS o
              WHERE o.status IN ('ready', 'claimed', 'sending') AND o.on_in_doubt = 'hold' AND o.step_id IS NOT NULL
                AND NOT (o.status = 'ready' AND o.first_claimed_at IS NULL AND o.sending_at IS NOT NULL)
                AND NOT EXISTS (SELECT 1 FROM onebell_replicas AS r
                                WHERE r.replica_id = o.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL
                                  AND r.beat_at + r.lease_us > :now)
              ORDER BY o.key LIMIT :limit)
  AND status IN ('ready', 'claimed', 'sending')
RETURNING key, attempt
