-- sweep_staged: records that an atomic batch had put aside, when it is over
WITH picked AS MATERIALIZED (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell.staged s JOIN onebell.batches b USING (batch_id)
    WHERE s.batch_id = $1 AND b.status IN ('done', 'cancelled')
    LIMIT $2
)
DELETE FROM onebell.staged s USING picked p WHERE s.batch_id = p.batch_id AND s.key = p.key AND s.byte = p.byte
