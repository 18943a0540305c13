-- list_runs: runs for people, the newest first
SELECT r.run_id, coalesce(j.name, r.job_id) AS job, r.status, r.origin, r.scheduled_for, r.created_at, r.started_at, r.finished_at,
       r.reason, r.input
FROM onebell_runs AS r
LEFT JOIN onebell_jobs AS j ON j.job_id = r.job_id
WHERE (:job IS NULL OR j.name = :job OR r.job_id = :job) AND (:status IS NULL OR r.status = :status)
  AND (:since IS NULL OR r.created_at >= :since)
ORDER BY r.created_at DESC, r.scheduled_for DESC, r.run_id DESC
LIMIT :limit
