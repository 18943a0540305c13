-- read_called_step: a step that somebody calls back, and the definition that its run was opened with
SELECT c.run_id, c.name, d.definition::text AS definition
FROM (
    SELECT run_id, name FROM onebell.job_steps WHERE step_id = $1 AND attempt > 0
    UNION ALL
    SELECT run_id, name FROM onebell.attempts WHERE step_id = $1
) c
JOIN onebell.runs r ON r.run_id = c.run_id
JOIN onebell.definitions d ON d.job_id = r.job_id AND d.version = r.version
LIMIT 1
