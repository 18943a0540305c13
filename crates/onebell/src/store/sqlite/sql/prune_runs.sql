-- prune_runs: finished runs
DELETE FROM onebell_runs WHERE run_id IN (SELECT value FROM json_each(:runs)) AND finished_at IS NOT NULL
