-- read_effects: the fingerprints that are kept under these keys
SELECT k.scope, k.key, e.fingerprint
FROM unnest($1::text[], $2::text[]) AS k (scope, key)
CROSS JOIN LATERAL (SELECT o.fingerprint FROM onebell.effects o WHERE o.scope = k.scope AND o.key = k.key OFFSET 0) e
