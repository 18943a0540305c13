-- move_batch: batch running → done (finish)
UPDATE onebell.batches b
SET byte = $4, line = $5, prefix = $6, header = $7, applied = b.applied + $8, already = b.already + $9, conflicts = b.conflicts + $10,
    rejected = b.rejected + $11, failed = b.failed + $12, changed_at = clock.now,
    status = CASE WHEN $13 THEN 'done' ELSE 'running' END, locked_by = CASE WHEN $13 THEN NULL ELSE b.locked_by END,
    complete_by = CASE WHEN $13 THEN NULL ELSE clock.now + b.timeout_us * interval '1 microsecond' END,
    finished_at = CASE WHEN $13 THEN clock.now END
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE b.batch_id = $2 AND b.attempt = $3 AND b.status = 'running'
RETURNING b.applied, b.already, b.conflicts, b.rejected, b.failed
