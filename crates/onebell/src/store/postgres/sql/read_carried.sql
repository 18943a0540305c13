-- read_carried: those of some jobs whose registered definition one of some replicas carries
WITH carried AS MATERIALIZED (
    SELECT DISTINCT c.key AS job_id, c.value AS hash
    FROM onebell.replicas r CROSS JOIN LATERAL jsonb_each_text(r.jobs) c
    WHERE r.replica_id = ANY($1)
)
SELECT j.job_id
FROM onebell.jobs j JOIN carried c ON c.job_id = j.job_id AND c.hash = j.hash
WHERE j.job_id = ANY($2)
ORDER BY j.job_id
