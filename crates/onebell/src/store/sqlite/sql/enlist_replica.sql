-- enlist_replica: a replica's row, or what it carries now
INSERT INTO onebell_replicas (replica_id, label, version, tzdata, jobs, handlers, queues, channels, lease_us, beat, beat_at, started_at)
VALUES (:replica, :label, :version, :tzdata, :jobs, :handlers, :queues, :channels, :lease_us, 1, :now, :now)
ON CONFLICT (replica_id) DO UPDATE
SET label = excluded.label, version = excluded.version, tzdata = excluded.tzdata, jobs = excluded.jobs,
    handlers = excluded.handlers, queues = excluded.queues, channels = excluded.channels, lease_us = excluded.lease_us
