-- read_overlap: whether a run of the job is active, and whether a run of a slot waits
SELECT EXISTS (SELECT FROM onebell.runs WHERE job_id = $1 AND finished_at IS NULL
               AND status IN ('running', 'cancelling', 'failing', 'undoing')) AS active,
    EXISTS (SELECT FROM onebell.runs WHERE job_id = $1 AND finished_at IS NULL AND status = 'queued' AND origin = 'slot') AS slot_waits
