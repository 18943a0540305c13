-- read_due_jobs: carried jobs with a slot that is due, the most overdue first
SELECT j.job_id, j.definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
       (SELECT json_group_array(hash) FROM (SELECT d.hash FROM onebell_definitions AS d WHERE d.job_id = j.job_id ORDER BY d.version)) AS known_hashes,
       EXISTS (SELECT 1 FROM onebell_replicas AS r, json_each(r.jobs) AS c
               WHERE r.lost_at IS NULL AND r.left_at IS NULL AND c.key = j.job_id AND c.value = j.hash) AS carried
FROM onebell_jobs AS j
WHERE j.next_slot IS NOT NULL AND j.paused_at IS NULL AND j.next_slot <= :now
  AND j.job_id IN (SELECT value FROM json_each(:jobs))
ORDER BY j.next_slot, j.job_id
LIMIT :limit
