-- insert_request_keys: the identity of a request, unless it exists
INSERT INTO onebell_request_keys (key, fingerprint, job_id, run_id, created_at)
VALUES (:key, :fingerprint, :job, :run, :now)
ON CONFLICT (key) DO NOTHING
