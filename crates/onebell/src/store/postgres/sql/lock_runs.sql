-- lock_runs: locks runs and reads them; what follows inside them is decided in a later statement
SELECT r.run_id, r.job_id, r.version, r.status, r.goal, r.reason, r.scheduled_for, r.finish_by,
    EXISTS (SELECT FROM onebell.vigils v WHERE v.job_id = r.job_id OFFSET 0) AS vigil
FROM onebell.runs r
WHERE r.run_id = ANY($1)
ORDER BY r.run_id
FOR NO KEY UPDATE
