-- revive_messages: message dropped → ready (revive)
-- A claimed one whose run is gone only changes its owner: it is on its way already.
UPDATE onebell.outbox o
SET status = CASE WHEN o.status = 'dropped' THEN 'ready' ELSE o.status END,
    ready_at = CASE WHEN o.status = 'dropped' THEN $1 ELSE o.ready_at END,
    tries = CASE WHEN o.status = 'dropped' THEN 0 ELSE o.tries END,
    first_claimed_at = CASE WHEN o.status = 'dropped' THEN NULL ELSE o.first_claimed_at END,
    finished_at = NULL, dropped_by = NULL, note = NULL, run_gone = false,
    on_in_doubt = m.on_in_doubt, retry = m.retry::jsonb,
    job_id = s.job_id, run_id = s.run_id, step_id = s.step_id, changed_at = $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS m (key, on_in_doubt, retry, step_id)
JOIN onebell.job_steps s ON s.step_id = m.step_id
WHERE o.key = m.key AND ((o.status = 'dropped' AND o.dropped_by = 'run') OR (o.status = 'claimed' AND o.run_gone))
