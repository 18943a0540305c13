-- prune_staged: records of atomic batches that are over
WITH picked AS MATERIALIZED (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell.batches b,
        LATERAL (SELECT w.batch_id, w.key, w.byte FROM onebell.staged w WHERE w.batch_id = b.batch_id LIMIT $1) s
    WHERE b.atomic AND b.status IN ('done', 'cancelled')
    LIMIT $1
)
DELETE FROM onebell.staged s USING picked p WHERE s.batch_id = p.batch_id AND s.key = p.key AND s.byte = p.byte
