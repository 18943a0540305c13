-- show_run: a run for people
SELECT r.run_id, coalesce(j.name, r.job_id) AS job, r.status, r.origin, r.scheduled_for, r.created_at, r.started_at, r.finished_at,
       r.reason, r.input
FROM onebell_runs AS r
LEFT JOIN onebell_jobs AS j ON j.job_id = r.job_id
WHERE r.run_id = :run
