-- read_overlap: whether a run of the job is active, and whether a slot's run waits
SELECT EXISTS (SELECT 1 FROM onebell_runs WHERE job_id = :job AND finished_at IS NULL
                 AND status IN ('running', 'cancelling', 'failing', 'undoing')) AS active,
       EXISTS (SELECT 1 FROM onebell_runs WHERE job_id = :job AND finished_at IS NULL
                 AND status = 'queued' AND origin = 'slot') AS slot_waits
