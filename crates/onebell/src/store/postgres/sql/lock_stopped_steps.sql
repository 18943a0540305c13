-- lock_stopped_steps: locks the steps of a run that wait for a person
SELECT step_id, name, status, attempt
FROM onebell.job_steps
WHERE run_id = $1 AND status IN ('exhausted', 'held', 'failed')
ORDER BY step_id
FOR UPDATE
