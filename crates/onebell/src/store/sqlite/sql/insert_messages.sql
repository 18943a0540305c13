-- insert_messages: a message into the outbox, unless it exists
INSERT INTO onebell_outbox (key, fingerprint, channel, payload, on_in_doubt, retry, job_id, run_id, step_id, status, ready_at,
    created_at, changed_at)
VALUES (:key, :fingerprint, :channel, :payload, :on_in_doubt, :retry, :job, :run, :step, 'ready', :now, :now, :now)
ON CONFLICT (key) DO NOTHING
