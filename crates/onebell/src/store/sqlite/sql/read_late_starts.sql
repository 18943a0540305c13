-- read_late_starts: queued runs that never started and whose slot is too old to start now
-- The plus signs keep it on what is open: by its slots it would read the whole history.
SELECT run_id, scheduled_for FROM onebell_runs
WHERE job_id = :job AND finished_at IS NULL AND status = 'queued' AND started_at IS NULL
  AND origin IN (SELECT value FROM json_each(:origins)) AND +scheduled_for < :limit_slot
ORDER BY +scheduled_for
LIMIT :limit
