-- extend_steps: progress under a claim that still holds and has not lapsed
UPDATE onebell.job_steps s
SET complete_by = greatest(s.complete_by, least(clock.now + s.timeout_us * interval '1 microsecond', s.hard_complete_by))
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE s.step_id = $2 AND s.attempt = $3 AND s.locked_by = $4 AND s.status = 'running' AND s.complete_by > clock.now
RETURNING s.complete_by
