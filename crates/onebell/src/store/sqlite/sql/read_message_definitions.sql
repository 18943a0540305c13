-- read_message_definitions: of a message that a step put: its run, and the definition that this was opened with
SELECT r.run_id, r.job_id, d.definition
FROM onebell_outbox AS o
JOIN onebell_runs AS r ON r.run_id = o.run_id
JOIN onebell_definitions AS d ON d.job_id = r.job_id AND d.version = r.version
WHERE o.key = :key AND o.step_id IS NOT NULL
