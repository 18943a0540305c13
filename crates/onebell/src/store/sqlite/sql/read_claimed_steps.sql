-- read_claimed_steps: what an agent needs of the steps it has just claimed
SELECT s.step_id, s.run_id, s.attempt, s.locked_by, coalesce(j.name, s.job_id) AS job, r.scheduled_for, r.origin, r.input,
       s.name, s.handler, s.spec, s.after, s.tries, s.timeout_us, s.complete_by, s.hard_complete_by, s.claimed_at,
       s.started_at, s.alone
FROM onebell_job_steps AS s
JOIN onebell_runs AS r ON r.run_id = s.run_id
LEFT JOIN onebell_jobs AS j ON j.job_id = s.job_id
WHERE s.step_id IN (SELECT value FROM json_each(:steps)) AND +s.locked_by = :replica
ORDER BY s.priority DESC, s.ready_at, s.step_id
