-- read_request_keys: a request that was made before
SELECT fingerprint, run_id FROM onebell_request_keys WHERE key = :key
