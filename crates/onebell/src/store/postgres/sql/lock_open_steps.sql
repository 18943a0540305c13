-- lock_open_steps: locks what is pending or running in runs, and reads whether its replica was heard of within its lease
SELECT s.step_id, s.run_id, s.status, s.attempt, s.locked_by, s.tries, s.retry::text AS retry, s.first_claimed_at,
    s.started_at IS NOT NULL AS started, s.on_lost,
    EXISTS (SELECT FROM onebell.replicas r
            WHERE r.replica_id = s.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL
              AND r.beat_at + r.lease_us * interval '1 microsecond' > $1) AS heard
FROM onebell.job_steps s
WHERE s.run_id = ANY($2) AND (s.status = 'running' OR s.status = 'pending' AND s.error IS DISTINCT FROM $3)
ORDER BY s.step_id
FOR UPDATE OF s
