-- prune_rejections: findings of batches that ended longer ago than keys are kept
DELETE FROM onebell_rejections
WHERE (batch_id, byte) IN (
    SELECT r.batch_id, r.byte
    FROM onebell_batches b JOIN onebell_rejections r USING (batch_id)
    WHERE b.finished_at <= :before
    LIMIT :limit
)
