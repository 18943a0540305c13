-- insert_request_keys: the identity of a request, if it is new
INSERT INTO onebell.request_keys (key, fingerprint, job_id, run_id, created_at) VALUES ($2, $3, $4, $5, $1)
ON CONFLICT DO NOTHING
RETURNING key
