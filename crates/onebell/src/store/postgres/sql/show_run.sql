-- show_run: one run
SELECT r.run_id, coalesce(j.name, r.job_id) AS job, r.status, r.origin, r.scheduled_for, r.created_at, r.started_at, r.finished_at, r.reason, r.input
FROM onebell.runs r
LEFT JOIN onebell.jobs j ON j.job_id = r.job_id
WHERE r.run_id = $1
