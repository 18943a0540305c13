-- oldest_waiting: how long the longest waiting step, message and slot have been due, in microseconds
WITH clock AS MATERIALIZED (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now),
oldest AS (
    SELECT (SELECT min(s.ready_at) FROM onebell.job_steps s JOIN onebell.runs r ON r.run_id = s.run_id
            WHERE s.status = 'pending' AND r.status IN ('running', 'undoing')) AS step,
           (SELECT min(ready_at) FROM onebell.outbox WHERE status = 'ready') AS message,
           (SELECT min(next_slot) FROM onebell.jobs WHERE paused_at IS NULL) AS slot
)
SELECT greatest(0, extract(epoch FROM clock.now - coalesce(step, clock.now)) * 1000000)::bigint AS step_us,
    greatest(0, extract(epoch FROM clock.now - coalesce(message, clock.now)) * 1000000)::bigint AS message_us,
    greatest(0, extract(epoch FROM clock.now - coalesce(slot, clock.now)) * 1000000)::bigint AS slot_us
FROM oldest, clock
