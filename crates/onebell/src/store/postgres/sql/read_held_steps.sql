-- read_held_steps: the steps that a replica holds
SELECT s.step_id, s.run_id, s.name, s.handler, s.spec, s.after::text AS after, s.priority, s.ready_at, s.attempt, s.tries,
    s.locked_by, s.alone, s.timeout_us, s.claimed_at, s.started_at, s.complete_by, s.hard_complete_by
FROM onebell.job_steps s
WHERE s.locked_by = $1 AND s.complete_by IS NOT NULL
ORDER BY s.priority DESC, s.ready_at, s.step_id
