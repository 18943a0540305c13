-- read_claimed_steps: what the handlers of claimed steps need of their runs; and whether those still run
SELECT r.run_id, r.status, r.scheduled_for, r.origin, r.input, coalesce(j.name, r.job_id) AS job
FROM onebell.runs r
LEFT JOIN onebell.jobs j ON j.job_id = r.job_id
WHERE r.run_id = ANY($1)
