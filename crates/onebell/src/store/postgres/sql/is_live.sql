-- is_live: whether a replica is live; one that is not never comes back
SELECT EXISTS (SELECT FROM onebell.replicas WHERE replica_id = $1 AND lost_at IS NULL AND left_at IS NULL) AS live
