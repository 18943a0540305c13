-- read_carried: those of some jobs whose registered definition one of some replicas carries
SELECT DISTINCT j.job_id
FROM onebell_replicas AS r, json_each(r.jobs) AS c
JOIN onebell_jobs AS j ON j.job_id = c.key AND j.hash = c.value
WHERE r.replica_id IN (SELECT value FROM json_each(:replicas)) AND j.job_id IN (SELECT value FROM json_each(:jobs))
ORDER BY j.job_id
