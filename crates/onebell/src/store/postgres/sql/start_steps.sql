-- start_steps: work begins under claims that still hold, also when they lapsed: the fence decides
WITH picked AS MATERIALIZED (
    SELECT s.step_id
    FROM unnest($2::text[], $3::bigint[], $4::text[]) AS c (step_id, attempt, replica)
    JOIN onebell.job_steps s ON s.step_id = c.step_id AND s.attempt = c.attempt AND s.locked_by = c.replica AND s.status = 'running'
    ORDER BY s.step_id
    FOR NO KEY UPDATE OF s
), clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
)
UPDATE onebell.job_steps s
SET started_at = coalesce(s.started_at, clock.now), complete_by = clock.now + s.timeout_us * interval '1 microsecond',
    changed_at = clock.now
FROM picked, clock
WHERE s.step_id = picked.step_id AND s.status = 'running'
RETURNING s.step_id, s.attempt, s.locked_by
