-- read_jobs: jobs of these names or former names, exact names first, or all of them
SELECT j.job_id, j.definition::text AS definition, j.version, j.hash, j.cursor, j.pruned_before, j.paused_at, j.next_slot,
    ARRAY(SELECT d.hash FROM onebell.definitions d WHERE d.job_id = j.job_id ORDER BY d.version) AS known_hashes,
    EXISTS (SELECT FROM onebell.replicas r
            WHERE r.lost_at IS NULL AND r.left_at IS NULL AND r.jobs ->> j.job_id = j.hash) AS carried
FROM onebell.jobs j
WHERE $1 OR j.name = ANY($2) OR j.definition ->> 'formerly' = ANY($2)
ORDER BY j.name = ANY($2) DESC, j.name
