-- read_slot_run: which of these slots were opened before
SELECT s.job_id, s.scheduled_for
FROM unnest($1::text[], $2::timestamptz[]) AS s (job_id, scheduled_for)
WHERE EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = s.job_id AND r.scheduled_for = s.scheduled_for)
