-- read_effects: the fingerprints that are kept under these keys
SELECT e.scope, e.key, e.fingerprint
FROM unnest($1::text[], $2::text[]) AS k (scope, key)
JOIN onebell.effects e ON e.scope = k.scope AND e.key = k.key
