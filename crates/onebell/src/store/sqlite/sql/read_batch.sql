-- read_batch: a batch
SELECT batch_id, series, scope, status, attempt, atomic, timeout_us, byte, line, applied, already, conflicts, rejected, failed
FROM onebell_batches WHERE batch_id = :batch
