-- raise_pruned: no slot at or below a pruned one is ever opened again; only forward
UPDATE onebell.jobs j
SET pruned_before = m.slot
FROM (SELECT r.job_id, max(r.scheduled_for) AS slot FROM onebell.runs r WHERE r.run_id = ANY($1) GROUP BY r.job_id) m
WHERE j.job_id = m.job_id AND m.slot IS NOT NULL AND (j.pruned_before IS NULL OR j.pruned_before < m.slot)
