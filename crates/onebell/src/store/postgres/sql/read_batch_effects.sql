-- read_batch_effects: what exists for these keys; the payload only where the fingerprint is another
SELECT e.key, e.fingerprint, e.failed, CASE WHEN e.fingerprint <> c.fingerprint THEN e.payload END AS payload
FROM unnest($2::text[], $3::text[]) AS c (key, fingerprint)
CROSS JOIN LATERAL (SELECT o.* FROM onebell.effects o WHERE o.scope = $1 AND o.key = c.key OFFSET 0) e
