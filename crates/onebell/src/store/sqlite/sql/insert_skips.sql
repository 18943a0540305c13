-- insert_skips: slots that will not run; the wider of two ranges with the same beginning stays
INSERT INTO onebell_skips (job_id, from_slot, to_slot, count, reason, recorded_at)
VALUES (:job, :from, :to, :count, :reason, :now)
ON CONFLICT (job_id, from_slot, reason) DO UPDATE SET to_slot = excluded.to_slot, count = excluded.count
WHERE excluded.to_slot > onebell_skips.to_slot
