-- sort_staged: how many records of an atomic batch ended how
SELECT s.outcome, count(*) AS number
FROM (
    SELECT CASE WHEN e.key IS NULL THEN NULL
                WHEN s.fingerprint <> e.fingerprint THEN 'conflict'
                WHEN e.failed IS NOT NULL THEN 'failed'
                WHEN e.batch_id = $2 AND s.byte = min(s.byte) OVER (PARTITION BY s.key) THEN 'applied'
                ELSE 'already' END AS outcome
    FROM onebell.staged s
        LEFT JOIN LATERAL (SELECT o.* FROM onebell.effects o WHERE o.scope = $1 AND o.key = s.key OFFSET 0) e ON true
    WHERE s.batch_id = $2
) s
GROUP BY s.outcome
