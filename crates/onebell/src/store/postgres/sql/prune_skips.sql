-- prune_skips: skips older than runs are kept
WITH picked AS MATERIALIZED (
    SELECT job_id, from_slot, reason
    FROM onebell.skips
    WHERE recorded_at <= $1 AND job_id = ANY($3)
    ORDER BY recorded_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
DELETE FROM onebell.skips s USING picked p WHERE s.job_id = p.job_id AND s.from_slot = p.from_slot AND s.reason = p.reason
