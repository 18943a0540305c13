-- release_batch: batch running → pending (give-back)
UPDATE onebell.batches
SET status = 'pending', locked_by = NULL, complete_by = NULL, changed_at = (SELECT coalesce($1::timestamptz, clock_timestamp()))
WHERE batch_id = $2 AND attempt = $3 AND status = 'running'
