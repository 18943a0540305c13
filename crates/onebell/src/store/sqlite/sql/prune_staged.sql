-- prune_staged: records of atomic batches that are over
DELETE FROM onebell_staged
WHERE (batch_id, key, byte) IN (
    SELECT s.batch_id, s.key, s.byte
    FROM onebell_batches b CROSS JOIN onebell_staged s ON s.batch_id = b.batch_id
    WHERE b.atomic AND b.status IN ('done', 'cancelled')
    LIMIT :limit
)
