-- fence_steps: locks the steps that still run under these claims; a claim that is not returned does not hold
SELECT s.step_id, s.run_id, s.attempt, s.locked_by, s.tries, s.retry::text AS retry, s.first_claimed_at,
    s.started_at IS NOT NULL AS started, s.on_lost, (SELECT coalesce($1::timestamptz, clock_timestamp())) AS now
FROM unnest($2::text[], $3::bigint[], $4::text[]) AS c (step_id, attempt, replica)
JOIN onebell.job_steps s ON s.step_id = c.step_id AND s.attempt = c.attempt AND s.locked_by = c.replica AND s.status = 'running'
ORDER BY s.step_id
FOR UPDATE OF s
