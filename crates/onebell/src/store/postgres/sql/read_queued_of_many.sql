-- read_queued_of_many: jobs that may have something to admit, whoever carries them; steps over open runs job by job
WITH RECURSIVE open AS (
    (SELECT job_id FROM onebell.runs WHERE finished_at IS NULL ORDER BY job_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.job_id FROM onebell.runs r WHERE r.finished_at IS NULL AND r.job_id > o.job_id ORDER BY r.job_id LIMIT 1)
    FROM open o WHERE o.job_id IS NOT NULL
)
SELECT j.job_id
FROM open o JOIN onebell.jobs j ON j.job_id = o.job_id
WHERE EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL AND r.status = 'queued')
  AND (j.definition ->> 'overlap' = 'allow'
       OR NOT EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL
                      AND r.status IN ('running', 'cancelling', 'failing', 'undoing')))
ORDER BY j.job_id
