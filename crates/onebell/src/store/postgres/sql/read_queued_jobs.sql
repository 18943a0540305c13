-- read_queued_jobs: carried jobs that may have something to admit; a look only, admission decides under the job's lock
SELECT j.job_id
FROM onebell.jobs j
WHERE j.job_id = ANY($1)
  AND EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL AND r.status = 'queued')
  AND (j.definition ->> 'overlap' = 'allow'
       OR NOT EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL
                      AND r.status IN ('running', 'cancelling', 'failing', 'undoing')))
ORDER BY j.job_id
