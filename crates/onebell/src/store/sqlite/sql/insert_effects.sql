-- insert_effects: a result with identity, unless it exists
INSERT INTO onebell_effects (scope, key, fingerprint, amount, payload, step_id, created_at)
VALUES (:scope, :key, :fingerprint, :amount, :payload, :step, :now)
ON CONFLICT (scope, key) DO NOTHING
