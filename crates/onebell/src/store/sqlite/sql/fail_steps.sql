-- fail_steps: step delivering, held → failed (delivery-failed); step exhausted, held, failed → failed (resolve-failed)
UPDATE onebell_job_steps SET status = 'failed', uncarried = 0, attempt = attempt + 1, error = :error, changed_at = :now
WHERE step_id = :step AND attempt = :attempt AND status = :from AND status IN ('delivering', 'exhausted', 'held', 'failed')
