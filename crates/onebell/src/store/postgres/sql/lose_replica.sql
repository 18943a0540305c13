-- lose_replica: declares a replica lost, if it is live and its beat stood still
UPDATE onebell.replicas
SET lost_at = $3
WHERE replica_id = $1 AND beat = $2 AND lost_at IS NULL AND left_at IS NULL
