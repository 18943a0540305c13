-- move_batch: batch running → done (finish)
UPDATE onebell_batches
SET byte = :byte, line = :line, prefix = :prefix, header = :header, applied = applied + :applied, already = already + :already,
    conflicts = conflicts + :conflicts, rejected = rejected + :rejected, failed = failed + :failed, changed_at = :now,
    status = iif(:last, 'done', 'running'), locked_by = iif(:last, NULL, locked_by),
    complete_by = iif(:last, NULL, :now + timeout_us), finished_at = iif(:last, :now, NULL)
WHERE batch_id = :batch AND attempt = :attempt AND status = 'running'
RETURNING applied, already, conflicts, rejected, failed
