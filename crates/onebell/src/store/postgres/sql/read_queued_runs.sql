-- read_queued_runs: of each job so many, in the order of admission: a waiting slot, then the oldest
SELECT q.run_id
FROM unnest($1::text[], $2::bigint[]) AS j (job_id, most)
CROSS JOIN LATERAL (
    SELECT r.run_id
    FROM onebell.runs r
    WHERE r.job_id = j.job_id AND r.finished_at IS NULL AND r.status = 'queued'
    ORDER BY (r.origin = 'slot') DESC, r.created_at, r.scheduled_for NULLS FIRST, r.run_id
    LIMIT j.most
) q
