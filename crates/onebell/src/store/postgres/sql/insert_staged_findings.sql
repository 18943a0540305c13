-- insert_staged_findings: records of an atomic batch that the business refused
INSERT INTO onebell.rejections (batch_id, byte, line, outcome, key, reason, record, recorded_at)
SELECT $3, s.byte, s.line, 'failed', s.key, e.failed, convert_to(s.payload, 'UTF8'), clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock,
    onebell.staged s
    CROSS JOIN LATERAL (SELECT o.* FROM onebell.effects o WHERE o.scope = $2 AND o.key = s.key OFFSET 0) e
WHERE s.batch_id = $3 AND s.fingerprint = e.fingerprint AND e.failed IS NOT NULL
ON CONFLICT DO NOTHING
