-- tell_late_finishes: their lateness is told, once
UPDATE onebell.runs SET finish_by = NULL, changed_at = $1 WHERE run_id = ANY($2) AND finish_by IS NOT NULL
