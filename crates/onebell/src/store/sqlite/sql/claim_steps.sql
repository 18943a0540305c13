-- claim_steps: step pending → running (claim)
WITH picked AS MATERIALIZED (
    SELECT step_id, row_number() OVER (ORDER BY priority DESC, ready_at, step_id) AS place
    FROM (
        SELECT s.step_id, s.priority, s.ready_at
        FROM onebell_job_steps AS s
        CROSS JOIN onebell_runs AS r ON r.run_id = s.run_id
        WHERE s.status = 'pending' AND s.ready_at <= :now AND s.alone = 0
          AND r.status IN ('running', 'undoing')
          AND s.job_id IN (SELECT value FROM json_each(:jobs))
          AND s.handler IN (SELECT value FROM json_each(:handlers))
          AND s.queue IN (SELECT value FROM json_each(:queues))
          AND (:run IS NULL OR s.run_id = :run)
        ORDER BY s.priority DESC, s.ready_at, s.step_id
        LIMIT :limit
    )
)
UPDATE onebell_job_steps AS s
SET status = 'running', attempt = s.attempt + 1, tries = s.tries + 1, locked_by = :replica, claimed_at = :now,
    started_at = CASE WHEN picked.place <= :start THEN :now END,
    complete_by = :now + s.timeout_us, hard_complete_by = :now + max(s.hard_limit_us, s.timeout_us),
    first_claimed_at = coalesce(s.first_claimed_at, :now), changed_at = :now
FROM picked
WHERE s.step_id = picked.step_id AND s.status = 'pending'
RETURNING step_id
