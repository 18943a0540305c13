-- read_beats: the beats of all other live replicas
SELECT replica_id, beat, lease_us FROM onebell_replicas
WHERE lost_at IS NULL AND left_at IS NULL AND replica_id <> :replica
ORDER BY replica_id
