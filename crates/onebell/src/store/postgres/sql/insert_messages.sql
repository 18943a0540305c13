-- insert_messages: those whose key is new; what is not returned is read in a later statement
INSERT INTO onebell.outbox (key, fingerprint, channel, payload, on_in_doubt, retry, job_id, run_id, step_id, status, ready_at,
    created_at, changed_at)
SELECT m.key, m.fingerprint, m.channel, m.payload, m.on_in_doubt, m.retry::jsonb, s.job_id, s.run_id, s.step_id, 'ready', $1, $1, $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) WITH ORDINALITY
    AS m (key, fingerprint, channel, payload, on_in_doubt, retry, step_id, place)
JOIN onebell.job_steps s ON s.step_id = m.step_id
ORDER BY m.key COLLATE "C", m.place
ON CONFLICT DO NOTHING
RETURNING key, step_id
