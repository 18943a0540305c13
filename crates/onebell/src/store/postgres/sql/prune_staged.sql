-- prune_staged: records of atomic batches that are over
WITH picked AS MATERIALIZED (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell.staged s JOIN onebell.batches b USING (batch_id)
    WHERE b.status IN ('done', 'cancelled')
    LIMIT $1
)
DELETE FROM onebell.staged s USING picked p WHERE s.batch_id = p.batch_id AND s.key = p.key AND s.byte = p.byte
