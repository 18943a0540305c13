-- is_live: whether a replica is live
SELECT 1 FROM onebell_replicas WHERE replica_id = :replica AND lost_at IS NULL AND left_at IS NULL
