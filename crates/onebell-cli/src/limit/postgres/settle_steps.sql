-- The same set done, under the fence of its claim.
UPDATE public.steps SET status = 'succeeded'
WHERE id BETWEEN $2 AND $3 AND status = 'running' AND attempt = 1 AND locked_by = $1
