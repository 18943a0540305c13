-- prune_keys: request keys older than they are kept, of runs that are over
DELETE FROM onebell_request_keys WHERE key IN (
    SELECT k.key FROM onebell_request_keys AS k
    WHERE k.created_at <= :before
      AND NOT EXISTS (SELECT 1 FROM onebell_runs AS r WHERE r.run_id = k.run_id AND r.finished_at IS NULL)
    ORDER BY k.created_at LIMIT :limit)
