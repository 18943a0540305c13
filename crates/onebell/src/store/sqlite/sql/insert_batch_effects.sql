-- insert_batch_effects: a record with identity, unless it exists
INSERT INTO onebell_effects (scope, key, fingerprint, amount, payload, step_id, created_at, batch_id, failed)
VALUES (:scope, :key, :fingerprint, :amount, :payload, :step, :now, :batch, :failed)
ON CONFLICT (scope, key) DO NOTHING
