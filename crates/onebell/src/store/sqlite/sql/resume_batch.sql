-- resume_batch: batch cancelled → pending (resume)
UPDATE onebell_batches AS b SET status = 'pending', finished_at = NULL, changed_at = :now
WHERE b.batch_id = :batch AND b.status = 'cancelled' AND NOT b.atomic
  AND NOT EXISTS (SELECT 1 FROM onebell_batches newer WHERE newer.series = b.series AND newer.generation > b.generation)
