-- sweep_staged: records that atomic batches of a source had put aside, of those that are over
DELETE FROM onebell_staged
WHERE (batch_id, key, byte) IN (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell_batches b CROSS JOIN onebell_staged s ON s.batch_id = b.batch_id
    WHERE b.series = (SELECT own.series FROM onebell_batches own WHERE own.batch_id = :batch) AND b.status IN ('done', 'cancelled')
    LIMIT :limit
)
