-- read_staged_conflicts: records of an atomic batch whose identity exists with another payload, in the order of the source
SELECT s.key, s.byte, s.line, s.fingerprint, s.payload, e.fingerprint AS kept, e.payload AS kept_payload
FROM onebell.staged s
    CROSS JOIN LATERAL (SELECT o.* FROM onebell.effects o WHERE o.scope = $1 AND o.key = s.key OFFSET 0) e
WHERE s.batch_id = $2 AND s.fingerprint <> e.fingerprint
ORDER BY s.byte LIMIT $3
