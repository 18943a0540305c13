-- read_late_starts: queued runs that never started and whose slot is too old to start now
-- What is open is read first: by its slots it would read the whole history.
WITH waiting AS MATERIALIZED (
    SELECT run_id, scheduled_for, origin, started_at
    FROM onebell.runs
    WHERE job_id = $1 AND finished_at IS NULL AND status = 'queued'
)
SELECT run_id, scheduled_for
FROM waiting
WHERE started_at IS NULL AND origin = ANY($2) AND scheduled_for < $3
ORDER BY scheduled_for
LIMIT $4
