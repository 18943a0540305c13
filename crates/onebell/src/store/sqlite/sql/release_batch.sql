-- release_batch: batch running → pending (give-back)
UPDATE onebell_batches SET status = 'pending', locked_by = NULL, complete_by = NULL, changed_at = :now
WHERE batch_id = :batch AND attempt = :attempt AND status = 'running'
