-- read_request_keys: what was asked for with this key
SELECT fingerprint, run_id FROM onebell.request_keys WHERE key = $1
