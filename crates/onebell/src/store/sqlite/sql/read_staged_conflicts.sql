-- read_staged_conflicts: records of an atomic batch whose identity exists with another payload, in the order of the source
SELECT s.key, s.byte, s.line, s.fingerprint, s.payload, e.fingerprint AS kept, e.payload AS kept_payload
FROM onebell_staged s JOIN onebell_effects e ON e.scope = :scope AND e.key = s.key
WHERE s.batch_id = :batch AND s.fingerprint <> e.fingerprint
ORDER BY s.byte LIMIT :limit
