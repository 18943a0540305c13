-- sweep_staged: records that an atomic batch had put aside, when it is over
DELETE FROM onebell_staged
WHERE (batch_id, key, byte) IN (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell_batches b JOIN onebell_staged s USING (batch_id)
    WHERE b.batch_id = :batch AND b.status IN ('done', 'cancelled')
    LIMIT :limit
)
