-- resume_batch: batch cancelled → pending (resume)
UPDATE onebell.batches b
SET status = 'pending', finished_at = NULL, changed_at = (SELECT coalesce($1::timestamptz, clock_timestamp()))
WHERE b.batch_id = $2 AND b.status = 'cancelled' AND NOT b.atomic
  AND NOT EXISTS (SELECT 1 FROM onebell.batches newer WHERE newer.series = b.series AND newer.generation > b.generation)
