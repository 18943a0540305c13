-- raise_pruned: no slot at or below it is ever opened again; only forward
UPDATE onebell_jobs SET pruned_before = max(coalesce(pruned_before, :slot), :slot) WHERE job_id = :job
