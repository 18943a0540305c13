-- prune_replicas: replicas lost or left for long
DELETE FROM onebell.replicas WHERE replica_id = ANY($1)
