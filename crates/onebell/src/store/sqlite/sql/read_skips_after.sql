-- read_skips_after: what a job skipped for some reasons since a slot
SELECT from_slot, to_slot, count FROM onebell_skips
WHERE job_id = :job AND from_slot > :after AND reason IN (SELECT value FROM json_each(:reasons))
ORDER BY from_slot
LIMIT :limit
