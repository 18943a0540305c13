-- read_jobs: jobs of these names or former names, exact names first, or all
SELECT j.job_id, j.definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
       (SELECT json_group_array(hash) FROM (SELECT d.hash FROM onebell_definitions AS d WHERE d.job_id = j.job_id ORDER BY d.version)) AS known_hashes,
       EXISTS (SELECT 1 FROM onebell_replicas AS r, json_each(r.jobs) AS c
               WHERE r.lost_at IS NULL AND r.left_at IS NULL AND c.key = j.job_id AND c.value = j.hash) AS carried
FROM onebell_jobs AS j
WHERE :names IS NULL OR j.name IN (SELECT value FROM json_each(:names))
   OR j.definition ->> '$.formerly' IN (SELECT value FROM json_each(:names))
ORDER BY :names IS NOT NULL AND j.name NOT IN (SELECT value FROM json_each(:names)), j.name
