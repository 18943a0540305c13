-- read_last_run_slot: the newest slot of a job that has a run; one that was cancelled before it started is none, nor is a backfill
SELECT scheduled_for FROM onebell_runs
WHERE job_id = :job AND scheduled_for IS NOT NULL AND origin IN (SELECT value FROM json_each(:origins))
  AND (started_at IS NOT NULL OR status <> 'cancelled')
ORDER BY scheduled_for DESC
LIMIT 1
