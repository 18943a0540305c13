-- read_late_finishes: runs that should be over by now, and nobody was told
SELECT run_id
FROM onebell.runs
WHERE finish_by IS NOT NULL AND finish_by < (SELECT coalesce($1::timestamptz, clock_timestamp()))
ORDER BY finish_by
LIMIT $2
