-- insert_batch: a new reading of a source, claimed by who opens it
INSERT INTO onebell.batches (batch_id, series, generation, scope, source, identity, settings, status, attempt, locked_by, step_id,
    atomic, complete_by, timeout_us, created_at, changed_at)
SELECT $2, $3, $4, $5, $6, $7, $8, 'running', 1, $9, $10, $12, clock.now + $11::bigint * interval '1 microsecond', $11::bigint, clock.now, clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
ON CONFLICT DO NOTHING
