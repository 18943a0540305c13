-- sort_staged: how many records of an atomic batch ended how
SELECT s.outcome, count(*) AS number
FROM (
    SELECT CASE WHEN s.fingerprint <> e.fingerprint THEN 'conflict'
                WHEN e.failed IS NOT NULL THEN 'failed'
                WHEN e.batch_id = :batch AND s.byte = min(s.byte) OVER (PARTITION BY s.key) THEN 'applied'
                ELSE 'already' END AS outcome
    FROM onebell_staged s JOIN onebell_effects e ON e.scope = :scope AND e.key = s.key
    WHERE s.batch_id = :batch
) s
GROUP BY s.outcome
