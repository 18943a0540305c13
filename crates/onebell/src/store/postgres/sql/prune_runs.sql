-- prune_runs: finished runs
DELETE FROM onebell.runs WHERE run_id = ANY($1) AND finished_at IS NOT NULL
