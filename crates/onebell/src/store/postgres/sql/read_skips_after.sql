-- read_skips_after: what a job skipped for some reasons since a slot
SELECT from_slot, to_slot, count
FROM onebell.skips
WHERE job_id = $1 AND from_slot > coalesce($2, '-infinity'::timestamptz) AND reason = ANY($3)
ORDER BY from_slot
LIMIT $4
