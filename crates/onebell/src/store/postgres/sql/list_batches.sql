-- list_batches: for people, the newest first
SELECT batch_id, scope, source, status, atomic, locked_by, complete_by, attempt, applied, already, conflicts, rejected, failed, byte, line,
    prefix, header, settings, created_at, changed_at, finished_at
FROM onebell.batches
WHERE ($1::text IS NULL OR batch_id = $1) AND ($2::text IS NULL OR scope = $2)
ORDER BY created_at DESC, batch_id LIMIT $3
