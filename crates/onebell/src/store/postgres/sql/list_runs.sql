-- list_runs: the newest first
SELECT r.run_id, coalesce(j.name, r.job_id) AS job, r.status, r.origin, r.scheduled_for, r.created_at, r.started_at, r.finished_at, r.reason, r.input
FROM onebell.runs r
LEFT JOIN onebell.jobs j ON j.job_id = r.job_id
WHERE ($1::text IS NULL OR r.job_id = (SELECT n.job_id FROM onebell.jobs n WHERE n.name = $1))
  AND ($2::text IS NULL OR r.status = $2)
  AND ($3::timestamptz IS NULL OR r.created_at >= $3)
ORDER BY r.created_at DESC, r.run_id DESC
LIMIT $4
