-- insert_batch_effects: records with identity, unless they exist; they come sorted by key and each key once; whether all were written, else which
WITH written AS (
    INSERT INTO onebell.effects (scope, key, fingerprint, amount, payload, step_id, created_at, batch_id, failed)
    SELECT $2, e.key, e.fingerprint, e.amount, e.payload, $3, clock.now, $4, e.failed
    FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock,
        unnest($5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[]) AS e (key, fingerprint, amount, payload, failed)
    ON CONFLICT DO NOTHING
    RETURNING key
)
SELECT count(*) = cardinality($5::text[]) AS whole, CASE WHEN count(*) < cardinality($5::text[]) THEN array_agg(w.key) END AS keys
FROM written w
