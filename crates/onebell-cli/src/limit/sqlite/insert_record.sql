-- One record of a chunk, unless its identity is there already.
INSERT INTO ledger (scope, key, fingerprint, amount, payload, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, 0)
ON CONFLICT (scope, key) DO NOTHING
