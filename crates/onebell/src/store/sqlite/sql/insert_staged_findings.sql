-- insert_staged_findings: records of an atomic batch that the business refused
INSERT INTO onebell_rejections (batch_id, byte, line, outcome, key, reason, record, recorded_at)
SELECT :batch, s.byte, s.line, 'failed', s.key, e.failed, CAST(s.payload AS BLOB), :now
FROM onebell_staged s JOIN onebell_effects e ON e.scope = :scope AND e.key = s.key
WHERE s.batch_id = :batch AND s.fingerprint = e.fingerprint AND e.failed IS NOT NULL
ON CONFLICT DO NOTHING
