-- list_skips: the newest first
SELECT coalesce(j.name, s.job_id) AS job, s.from_slot, s.to_slot, s.count, s.reason, s.recorded_at
FROM onebell.skips s
LEFT JOIN onebell.jobs j ON j.job_id = s.job_id
WHERE $1::text IS NULL OR j.name = $1
ORDER BY s.recorded_at DESC, s.to_slot DESC, s.job_id, s.reason
LIMIT $2
