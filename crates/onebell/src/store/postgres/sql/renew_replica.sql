-- renew_replica: one more beat, if the replica is live
UPDATE onebell.replicas r
SET beat = r.beat + 1, beat_at = clock.now,
    prevented_slots = r.prevented_slots + $3, prevented_effects = r.prevented_effects + $4,
    prevented_messages = r.prevented_messages + $5, prevented_superseded = r.prevented_superseded + $6
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE r.replica_id = $2 AND r.lost_at IS NULL AND r.left_at IS NULL
RETURNING r.beat_at AS now
