-- list_skips: slots that did not run, for people, the newest first
SELECT coalesce(j.name, s.job_id) AS job, s.from_slot, s.to_slot, s.count, s.reason, s.recorded_at
FROM onebell_skips AS s
LEFT JOIN onebell_jobs AS j ON j.job_id = s.job_id
WHERE :job IS NULL OR j.name = :job OR s.job_id = :job
ORDER BY s.recorded_at DESC, s.from_slot DESC, s.reason
LIMIT :limit
