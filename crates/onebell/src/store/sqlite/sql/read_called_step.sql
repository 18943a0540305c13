-- read_called_step: a step that somebody calls back, and the definition that its run was opened with
SELECT c.run_id, c.name, d.definition
FROM (
    SELECT run_id, name FROM onebell_job_steps WHERE step_id = :step AND attempt > 0
    UNION ALL
    SELECT run_id, name FROM onebell_attempts WHERE step_id = :step
) AS c
JOIN onebell_runs AS r ON r.run_id = c.run_id
JOIN onebell_definitions AS d ON d.job_id = r.job_id AND d.version = r.version
LIMIT 1
