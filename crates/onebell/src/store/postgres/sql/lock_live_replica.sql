-- lock_live_replica: holds the replica, if it is live, against being declared lost meanwhile
SELECT replica_id
FROM onebell.replicas
WHERE replica_id = $1 AND lost_at IS NULL AND left_at IS NULL
FOR SHARE
