-- read_beats: the beats of all other live replicas
SELECT replica_id, beat, lease_us
FROM onebell.replicas
WHERE replica_id <> $1 AND lost_at IS NULL AND left_at IS NULL
ORDER BY replica_id
