-- renew_replica: one beat of a live replica
UPDATE onebell_replicas
SET beat = beat + 1, beat_at = :now, prevented_slots = prevented_slots + :slots, prevented_effects = prevented_effects + :effects,
    prevented_messages = prevented_messages + :messages, prevented_superseded = prevented_superseded + :superseded
WHERE replica_id = :replica AND lost_at IS NULL AND left_at IS NULL
