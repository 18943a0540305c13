-- claim_steps: step pending → running (claim)
-- Level by level of priority: one walk over all of them would read every step that is not due yet. The update compares
-- with what was locked, not with a constant: it must not be led away from the primary key.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
), level (priority) AS (
    (SELECT priority FROM onebell.job_steps WHERE status = 'pending' ORDER BY priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT s.priority FROM onebell.job_steps s
            WHERE s.status = 'pending' AND s.priority < level.priority ORDER BY s.priority DESC LIMIT 1)
    FROM level
    WHERE level.priority IS NOT NULL
), picked AS MATERIALIZED (
    SELECT due.step_id, due.attempt, due.status, due.priority, due.ready_at
    FROM level CROSS JOIN LATERAL (
        SELECT s.step_id, s.attempt, s.status, s.priority, s.ready_at
        FROM onebell.job_steps s
        WHERE s.status = 'pending' AND s.priority = level.priority AND s.ready_at <= (SELECT now FROM clock)
          AND s.alone = $8 AND s.job_id = ANY($3) AND s.handler = ANY($4) AND s.queue = ANY($5)
          AND ($9::text IS NULL OR s.run_id = $9)
          AND EXISTS (SELECT FROM onebell.runs r WHERE r.run_id = s.run_id AND r.status IN ('running', 'undoing'))
        ORDER BY s.ready_at, s.step_id
        LIMIT $6
        FOR NO KEY UPDATE SKIP LOCKED
    ) due
    LIMIT $6
), placed AS (
    SELECT step_id, attempt, status, row_number() OVER (ORDER BY priority DESC, ready_at, step_id) AS place FROM picked
)
UPDATE onebell.job_steps s
SET status = 'running', attempt = s.attempt + 1, tries = s.tries + 1, locked_by = $2,
    first_claimed_at = coalesce(s.first_claimed_at, clock.now), claimed_at = clock.now,
    started_at = CASE WHEN placed.place <= $7 THEN clock.now END,
    complete_by = clock.now + s.timeout_us * interval '1 microsecond',
    hard_complete_by = clock.now + greatest(s.timeout_us, s.hard_limit_us) * interval '1 microsecond',
    changed_at = clock.now
FROM placed, clock
WHERE s.step_id = placed.step_id AND s.attempt = placed.attempt AND s.status = placed.status
RETURNING s.step_id, s.run_id, s.name, s.handler, s.spec, s.after::text AS after, s.priority, s.ready_at, s.attempt, s.tries,
    s.locked_by, s.alone, s.timeout_us, s.claimed_at, s.started_at, s.complete_by, s.hard_complete_by
