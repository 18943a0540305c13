-- read_prunable_replicas: replicas lost or left for long that hold nothing any more
SELECT r.replica_id
FROM onebell.replicas r
WHERE coalesce(r.lost_at, r.left_at) <= $1
  AND NOT EXISTS (SELECT FROM onebell.job_steps s WHERE s.locked_by = r.replica_id AND s.complete_by IS NOT NULL)
  AND NOT EXISTS (SELECT FROM onebell.outbox o WHERE o.locked_by = r.replica_id AND o.complete_by IS NOT NULL)
ORDER BY r.replica_id
LIMIT $2
FOR UPDATE
