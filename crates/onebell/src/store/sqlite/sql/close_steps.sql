-- close_steps: step delivering, held → succeeded (delivered); step exhausted, held, failed → succeeded (resolve-succeeded)
DELETE FROM onebell_job_steps
WHERE step_id = :step AND attempt = :attempt AND status = :from AND status IN ('delivering', 'exhausted', 'held', 'failed')
