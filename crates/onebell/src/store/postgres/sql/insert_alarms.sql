-- insert_alarms: messages of jobs, not of steps: no run drops or waits for them; a key that is there was told before
INSERT INTO onebell.outbox (key, fingerprint, channel, payload, on_in_doubt, retry, job_id, status, ready_at, created_at, changed_at)
SELECT key, fingerprint, channel, payload, on_in_doubt, retry::jsonb, job_id, 'ready', $1, $1, $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    AS m (key, fingerprint, channel, payload, on_in_doubt, retry, job_id)
ORDER BY key COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING key
