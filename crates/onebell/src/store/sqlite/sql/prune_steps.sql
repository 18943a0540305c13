-- prune_steps: what a finished run left undone
DELETE FROM onebell_job_steps WHERE run_id IN (SELECT value FROM json_each(:runs))
