-- stage_records: a record of an atomic batch, put aside
INSERT INTO onebell_staged (batch_id, key, byte, line, fingerprint, amount, payload, failed)
VALUES (:batch, :key, :byte, :line, :fingerprint, :amount, :payload, :failed)
ON CONFLICT DO NOTHING
