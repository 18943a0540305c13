-- insert_rejections: what a chunk found
INSERT INTO onebell.rejections (batch_id, byte, line, outcome, key, reason, record, recorded_at)
SELECT $2, r.byte, r.line, r.outcome, r.key, r.reason, r.record, clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock,
    unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bytea[]) AS r (byte, line, outcome, key, reason, record)
