-- move_staged: what was put aside becomes effects, in the order of identities, unless they exist; of one that came twice, the first
INSERT INTO onebell.effects (scope, key, fingerprint, amount, payload, step_id, created_at, batch_id, failed)
SELECT $2, s.key, s.fingerprint, s.amount, s.payload, $3, clock.now, $4, s.failed
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock, onebell.staged s
WHERE s.batch_id = $4
ORDER BY s.key, s.byte
ON CONFLICT DO NOTHING
