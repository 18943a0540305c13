-- look_at_batch: a batch, not locked
SELECT b.batch_id, b.scope, b.status, b.attempt, b.atomic, b.timeout_us, b.byte, b.line, b.applied, b.already, b.conflicts, b.rejected, b.failed
FROM onebell.batches b WHERE b.batch_id = $1
