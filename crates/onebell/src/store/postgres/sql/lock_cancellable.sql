-- lock_cancellable: holds steps that are about to be cancelled, so that no agent claims one of them meanwhile
SELECT step_id
FROM onebell.job_steps
WHERE run_id = ANY($1) AND status IN ('waiting', 'pending')
ORDER BY step_id
FOR UPDATE
