-- One transaction, with a table for what is copied.
BEGIN;
CREATE TEMPORARY TABLE items (key text, fingerprint bytea, amount bigint, payload jsonb) ON COMMIT DROP
