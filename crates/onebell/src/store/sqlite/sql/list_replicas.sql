-- list_replicas: replicas for people, live ones first
SELECT r.replica_id, r.label, r.version, r.tzdata, r.beat, r.beat_at, r.lost_at, r.left_at, r.lease_us, c.newest,
       (SELECT count(*) FROM onebell_job_steps AS s WHERE s.locked_by = r.replica_id) AS running
FROM onebell_replicas AS r, onebell_clock AS c
ORDER BY r.lost_at IS NOT NULL OR r.left_at IS NOT NULL, r.started_at DESC, r.replica_id
