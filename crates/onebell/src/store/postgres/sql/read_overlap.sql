-- read_overlap: of some jobs, whether a run is active, and whether a run of a slot waits
SELECT j.job_id,
    EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL
            AND r.status IN ('running', 'cancelling', 'failing', 'undoing')) AS active,
    EXISTS (SELECT FROM onebell.runs r WHERE r.job_id = j.job_id AND r.finished_at IS NULL
            AND r.status = 'queued' AND r.origin = 'slot') AS slot_waits
FROM unnest($1::text[]) AS j (job_id)
