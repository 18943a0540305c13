-- cancel_steps: step waiting, pending → cancelled (cancel)
DELETE FROM onebell_job_steps
WHERE step_id IN (SELECT value FROM json_each(:steps)) AND status IN ('waiting', 'pending')
