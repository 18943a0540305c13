-- read_late_finishes: runs that should be over by now, and nobody was told
SELECT run_id FROM onebell_runs WHERE finish_by IS NOT NULL AND finish_by < :now ORDER BY finish_by LIMIT :limit
