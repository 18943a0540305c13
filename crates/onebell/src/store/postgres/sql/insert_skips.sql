-- insert_skips: slots that will not run; of two ranges from one slot the wider is kept
INSERT INTO onebell.skips (job_id, from_slot, to_slot, count, reason, recorded_at)
SELECT job_id, from_slot, to_slot, count, reason, $1
FROM unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::text[])
    AS s (job_id, from_slot, to_slot, count, reason)
ORDER BY job_id COLLATE "C", from_slot, reason
ON CONFLICT (job_id, from_slot, reason) DO UPDATE
SET to_slot = excluded.to_slot, count = excluded.count
WHERE excluded.to_slot > skips.to_slot
