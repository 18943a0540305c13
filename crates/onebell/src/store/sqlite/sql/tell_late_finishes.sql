-- tell_late_finishes: its lateness is told, once
UPDATE onebell_runs SET finish_by = NULL, changed_at = :now WHERE run_id = :run AND finish_by IS NOT NULL
