-- read_queued_jobs: carried jobs with a run that waits for admission
SELECT job_id FROM onebell_runs
WHERE finished_at IS NULL AND status = 'queued' AND job_id IN (SELECT value FROM json_each(:jobs))
GROUP BY job_id
ORDER BY min(created_at), job_id
