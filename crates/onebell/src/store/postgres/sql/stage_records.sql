-- stage_records: records of an atomic batch, put aside; again after an answer was lost
INSERT INTO onebell.staged (batch_id, key, byte, line, fingerprint, amount, payload, failed)
SELECT $1, s.key, s.byte, s.line, s.fingerprint, s.amount, s.payload, s.failed
FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[], $8::text[])
    AS s (key, byte, line, fingerprint, amount, payload, failed)
ON CONFLICT DO NOTHING
