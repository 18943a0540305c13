-- finish_steps: step running → succeeded (succeed); step running → cancelled (cancel-running)
DELETE FROM onebell_job_steps
WHERE step_id = :step AND attempt = :attempt AND locked_by = :replica AND status = 'running'
