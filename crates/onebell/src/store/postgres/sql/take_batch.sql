-- take_batch: batch running → pending (lapse); batch pending → running (claim)
UPDATE onebell.batches b
SET status = 'running', attempt = b.attempt + 1, locked_by = $4, step_id = $5, settings = $6, timeout_us = $7::bigint,
    complete_by = clock.now + $7::bigint * interval '1 microsecond', changed_at = clock.now
FROM (SELECT coalesce($1::timestamptz, clock_timestamp()) AS now) clock
WHERE b.batch_id = $2 AND b.attempt = $3 AND b.status IN ('pending', 'running')
