-- read_prunable_replicas: replicas lost or left for long that hold nothing
SELECT r.replica_id
FROM onebell_replicas AS r
WHERE coalesce(r.lost_at, r.left_at) <= :before
  AND NOT EXISTS (SELECT 1 FROM onebell_job_steps AS s WHERE s.locked_by = r.replica_id)
  AND NOT EXISTS (SELECT 1 FROM onebell_outbox AS o WHERE o.locked_by = r.replica_id)
ORDER BY r.replica_id
LIMIT :limit
