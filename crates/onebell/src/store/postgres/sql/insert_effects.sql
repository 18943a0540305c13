-- insert_effects: those whose key is new; what is not returned is read in a later statement
INSERT INTO onebell.effects (scope, key, fingerprint, amount, payload, step_id, created_at)
SELECT scope, key, fingerprint, amount, payload, step_id, $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[]) WITH ORDINALITY
    AS e (scope, key, fingerprint, amount, payload, step_id, place)
ORDER BY scope COLLATE "C", key COLLATE "C", place
ON CONFLICT DO NOTHING
RETURNING scope, key, step_id
