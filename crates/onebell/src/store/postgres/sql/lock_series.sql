-- lock_series: the newest batch of a source, locked
SELECT b.batch_id, b.generation, b.status, b.attempt, b.locked_by, b.step_id, b.complete_by, b.identity, b.byte, b.line, b.prefix, b.header,
    b.applied, b.already, b.conflicts, b.rejected, b.failed, (SELECT coalesce($1::timestamptz, clock_timestamp())) AS now
FROM onebell.batches b WHERE b.series = $2 ORDER BY b.generation DESC LIMIT 1
FOR NO KEY UPDATE OF b
