-- prune_skips: skips older than runs are kept
DELETE FROM onebell_skips WHERE (job_id, from_slot, reason) IN (
    SELECT job_id, from_slot, reason FROM onebell_skips
    WHERE recorded_at <= :before AND job_id IN (SELECT value FROM json_each(:jobs))
    ORDER BY recorded_at LIMIT :limit)
