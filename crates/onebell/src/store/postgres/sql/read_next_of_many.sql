-- read_next_of_many: a page of next slots, whoever carries the jobs, the earliest first
SELECT job_id, next_slot
FROM onebell.jobs
WHERE paused_at IS NULL AND next_slot IS NOT NULL AND (next_slot, job_id) > ($1, $2)
ORDER BY next_slot, job_id
LIMIT $3
