-- leave_replica: a replica leaves by itself
UPDATE onebell_replicas SET left_at = :now WHERE replica_id = :replica AND left_at IS NULL AND lost_at IS NULL
