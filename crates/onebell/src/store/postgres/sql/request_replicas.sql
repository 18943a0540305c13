-- request_replicas: asks for replicas that the watch found lost
INSERT INTO onebell.recovery_requests (kind, id, attempt, requested_by, requested_at, reason)
SELECT 'replica', r.replica_id, r.beat, $2, (SELECT coalesce($1::timestamptz, clock_timestamp())), 'its beat stood still for a lease'
FROM unnest($3::text[], $4::bigint[]) AS l (replica_id, beat)
JOIN onebell.replicas r ON r.replica_id = l.replica_id AND r.beat = l.beat AND r.lost_at IS NULL AND r.left_at IS NULL
ORDER BY r.replica_id
LIMIT $5
ON CONFLICT DO NOTHING
