-- withhold_batch: batch running → cancelled (withhold)
UPDATE onebell.batches b
SET status = 'cancelled', locked_by = NULL, complete_by = NULL, conflicts = b.conflicts + $4, changed_at = clock.now, finished_at = clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE b.batch_id = $2 AND b.attempt = $3 AND b.status = 'running' AND b.atomic
