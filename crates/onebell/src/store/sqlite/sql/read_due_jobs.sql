-- read_due_jobs: carried jobs with a slot that is due, the most overdue first
SELECT j.job_id, j.definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
       '[]' AS known_hashes, 0 AS carried
FROM onebell_jobs AS j INDEXED BY onebell_jobs_due
WHERE j.next_slot IS NOT NULL AND j.paused_at IS NULL AND j.next_slot <= :now
  AND j.job_id IN (SELECT value FROM json_each(:jobs))
ORDER BY j.next_slot, j.job_id
LIMIT :limit
