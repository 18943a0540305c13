-- list_batches: for people, the newest first
SELECT batch_id, scope, source, status, atomic, locked_by, complete_by, attempt, applied, already, conflicts, rejected, failed, byte, line,
       prefix, header, settings, created_at, changed_at, finished_at
FROM onebell_batches
WHERE (:batch IS NULL OR batch_id = :batch) AND (:scope IS NULL OR scope = :scope)
ORDER BY created_at DESC, batch_id LIMIT :limit
