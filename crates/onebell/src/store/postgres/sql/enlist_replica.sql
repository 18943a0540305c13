-- enlist_replica: a replica says what it carries
INSERT INTO onebell.replicas (replica_id, label, version, tzdata, jobs, handlers, queues, channels, lease_us, beat, beat_at, started_at)
SELECT $2, $3, $4, $5, $6::jsonb, $7::jsonb, $8::jsonb, $9::jsonb, $10, 1, clock.now, clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
ON CONFLICT (replica_id) DO UPDATE
SET label = excluded.label, version = excluded.version, tzdata = excluded.tzdata,
    jobs = excluded.jobs, handlers = excluded.handlers, queues = excluded.queues, channels = excluded.channels,
    lease_us = excluded.lease_us
