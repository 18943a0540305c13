-- read_first_of_many: the earliest next slot of all; which of several jobs that share it comes as it does: they are not sorted
SELECT job_id, next_slot
FROM onebell.jobs
WHERE paused_at IS NULL AND next_slot IS NOT NULL
ORDER BY next_slot
LIMIT 1
