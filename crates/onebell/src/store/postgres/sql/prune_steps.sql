-- prune_steps: what a finished run left undone
DELETE FROM onebell.job_steps WHERE run_id = ANY($1)
