-- withhold_batch: batch running → cancelled (withhold)
UPDATE onebell_batches
SET status = 'cancelled', locked_by = NULL, complete_by = NULL, conflicts = conflicts + :conflicts, changed_at = :now, finished_at = :now
WHERE batch_id = :batch AND attempt = :attempt AND status = 'running' AND atomic
