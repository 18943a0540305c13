-- read_work_left: what is left of a claim for the user's own statements; the fence is compared again, under its lock, after them
SELECT (extract(epoch FROM complete_by - (SELECT coalesce($1::timestamptz, clock_timestamp()))) * 1000000)::bigint AS left_us
FROM onebell.job_steps
WHERE step_id = $2 AND attempt = $3 AND locked_by = $4 AND status = 'running'
