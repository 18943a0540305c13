-- prune_rejections: findings of batches that ended longer ago than keys are kept
WITH picked AS MATERIALIZED (
    SELECT r.batch_id, r.byte
    FROM onebell.batches b JOIN onebell.rejections r USING (batch_id)
    WHERE b.finished_at <= $1
    LIMIT $2
)
DELETE FROM onebell.rejections r USING picked p WHERE r.batch_id = p.batch_id AND r.byte = p.byte
