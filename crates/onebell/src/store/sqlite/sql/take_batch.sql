-- take_batch: batch running → pending (lapse); batch pending → running (claim)
UPDATE onebell_batches
SET status = 'running', attempt = attempt + 1, locked_by = :reader, step_id = :step, settings = :settings, timeout_us = :timeout,
    complete_by = :now + :timeout, changed_at = :now
WHERE batch_id = :batch AND attempt = :attempt AND status IN ('pending', 'running')
