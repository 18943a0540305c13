-- prune_batches: batches that ended longer ago than keys are kept and of which nothing is left; the newest of a source stays
DELETE FROM onebell_batches
WHERE batch_id IN (
    SELECT b.batch_id
    FROM onebell_batches b
    WHERE b.finished_at <= :before
      AND EXISTS (SELECT 1 FROM onebell_batches newer WHERE newer.series = b.series AND newer.generation > b.generation)
      AND NOT EXISTS (SELECT 1 FROM onebell_rejections r WHERE r.batch_id = b.batch_id)
      AND NOT EXISTS (SELECT 1 FROM onebell_staged s WHERE s.batch_id = b.batch_id)
    ORDER BY b.finished_at
    LIMIT :limit
)
