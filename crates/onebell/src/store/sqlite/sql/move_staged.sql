-- move_staged: what was put aside becomes effects, in the order of identities, unless they exist; of one that came twice, the first
INSERT INTO onebell_effects (scope, key, fingerprint, amount, payload, step_id, created_at, batch_id, failed)
SELECT :scope, s.key, s.fingerprint, s.amount, s.payload, :step, :now, :batch, s.failed
FROM onebell_staged s
WHERE s.batch_id = :batch
ORDER BY s.key, s.byte
ON CONFLICT (scope, key) DO NOTHING
