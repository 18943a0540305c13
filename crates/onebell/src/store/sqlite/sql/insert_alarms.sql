-- insert_alarms: a message of a job, not of a step: no run drops or waits for it; a key that is there was told before
INSERT INTO onebell_outbox (key, fingerprint, channel, payload, on_in_doubt, retry, job_id, status, ready_at, created_at, changed_at)
VALUES (:key, :fingerprint, :channel, :payload, :on_in_doubt, :retry, :job, 'ready', :now, :now, :now)
ON CONFLICT (key) DO NOTHING
