-- prune_keys: request keys older than they are kept, of runs that are over
WITH picked AS MATERIALIZED (
    SELECT k.key
    FROM onebell.request_keys k
    WHERE k.created_at <= $1
      AND NOT EXISTS (SELECT FROM onebell.runs r WHERE r.run_id = k.run_id AND r.finished_at IS NULL)
    ORDER BY k.key
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM onebell.request_keys k USING picked WHERE k.key = picked.key
