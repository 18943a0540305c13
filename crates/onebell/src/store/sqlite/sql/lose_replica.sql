-- lose_replica: a replica is lost, if it is live and its beat did not change since it was asked for
UPDATE onebell_replicas SET lost_at = :now
WHERE replica_id = :replica AND beat = :beat AND lost_at IS NULL AND left_at IS NULL
