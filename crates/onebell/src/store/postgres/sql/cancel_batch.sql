-- cancel_batch: batch pending, running → cancelled (cancel)
UPDATE onebell.batches b
SET status = 'cancelled', locked_by = NULL, complete_by = NULL, changed_at = clock.now, finished_at = clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE b.batch_id = $2 AND b.status IN ('pending', 'running')
