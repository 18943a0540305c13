-- start_steps: marks claimed steps as begun, under their fences: their time begins then, once; a lapsed claim cannot begin
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
SET complete_by = CASE WHEN s.started_at IS NULL THEN clock.now + s.timeout_us * interval '1 microsecond'
        ELSE s.complete_by END,
    hard_complete_by = CASE WHEN s.started_at IS NULL
        THEN clock.now + greatest(s.hard_limit_us, s.timeout_us) * interval '1 microsecond' ELSE s.hard_complete_by END,
    started_at = coalesce(s.started_at, clock.now), changed_at = clock.now
FROM picked, clock
WHERE s.step_id = picked.step_id AND s.status = 'running' AND (s.started_at IS NOT NULL OR s.complete_by > clock.now)
RETURNING s.step_id, s.attempt, s.locked_by
