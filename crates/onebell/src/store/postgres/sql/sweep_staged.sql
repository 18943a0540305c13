-- sweep_staged: records that atomic batches of a source had put aside, of those that are over
WITH picked AS MATERIALIZED (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell.staged s JOIN onebell.batches b USING (batch_id)
    WHERE b.series = (SELECT own.series FROM onebell.batches own WHERE own.batch_id = $1) AND b.status IN ('done', 'cancelled')
    LIMIT $2
)
DELETE FROM onebell.staged s USING picked p WHERE s.batch_id = p.batch_id AND s.key = p.key AND s.byte = p.byte
