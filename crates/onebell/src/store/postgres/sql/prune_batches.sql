-- prune_batches: batches that ended longer ago than keys are kept and of which nothing is left; the newest of a source stays
WITH picked AS MATERIALIZED (
    SELECT b.batch_id
    FROM onebell.batches b
    WHERE b.finished_at <= $1
      AND EXISTS (SELECT 1 FROM onebell.batches newer WHERE newer.series = b.series AND newer.generation > b.generation)
      AND NOT EXISTS (SELECT 1 FROM onebell.rejections r WHERE r.batch_id = b.batch_id)
      AND NOT EXISTS (SELECT 1 FROM onebell.staged s WHERE s.batch_id = b.batch_id)
    ORDER BY b.finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM onebell.batches b USING picked WHERE b.batch_id = picked.batch_id
