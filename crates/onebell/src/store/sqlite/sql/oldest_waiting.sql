-- oldest_waiting: how long the longest waiting step, message and slot have been due, in microseconds
SELECT max(0, :now - coalesce((SELECT min(s.ready_at) FROM onebell_job_steps AS s JOIN onebell_runs AS r ON r.run_id = s.run_id
                               WHERE s.status = 'pending' AND r.status IN ('running', 'undoing')), :now)) AS step_us,
       max(0, :now - coalesce((SELECT min(ready_at) FROM onebell_outbox WHERE status = 'ready'), :now)) AS message_us,
       max(0, :now - coalesce((SELECT min(next_slot) FROM onebell_jobs WHERE paused_at IS NULL), :now)) AS slot_us
