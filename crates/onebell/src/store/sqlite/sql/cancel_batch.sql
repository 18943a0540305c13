-- cancel_batch: batch pending, running → cancelled (cancel)
UPDATE onebell_batches SET status = 'cancelled', locked_by = NULL, complete_by = NULL, changed_at = :now, finished_at = :now
WHERE batch_id = :batch AND status IN ('pending', 'running')
