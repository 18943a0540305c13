-- All that was copied, unless an identity is there already.
INSERT INTO public.ledger (scope, key, fingerprint, amount, payload, created_at)
SELECT $1, key, fingerprint, amount, payload, now() FROM items
ON CONFLICT DO NOTHING
