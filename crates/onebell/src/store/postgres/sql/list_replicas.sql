-- list_replicas: live ones first
SELECT r.replica_id, r.label, r.version, r.tzdata, r.beat, r.beat_at, r.lost_at, r.left_at,
    (SELECT count(*) FROM onebell.job_steps s WHERE s.locked_by = r.replica_id AND s.complete_by IS NOT NULL) AS running
FROM onebell.replicas r
ORDER BY (r.lost_at IS NULL AND r.left_at IS NULL) DESC, r.started_at DESC, r.replica_id
