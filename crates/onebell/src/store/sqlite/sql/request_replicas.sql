-- request_replicas: asks for a replica that the watch found lost
INSERT INTO onebell_recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'replica', replica_id, beat, :by, :now, 'its beat stood still for a lease'
FROM onebell_replicas
WHERE replica_id = :replica AND beat = :beat AND lost_at IS NULL AND left_at IS NULL
ON CONFLICT DO NOTHING
