-- leave_replica: it is not live any longer
UPDATE onebell.replicas
SET left_at = (SELECT coalesce($1::timestamptz, clock_timestamp()))
WHERE replica_id = $2 AND lost_at IS NULL AND left_at IS NULL
