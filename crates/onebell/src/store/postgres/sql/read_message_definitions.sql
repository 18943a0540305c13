-- read_message_definitions: of messages that steps put: their runs, and the definitions that those were opened with
SELECT o.key, o.attempt, r.run_id, r.job_id, d.definition::text AS definition
FROM onebell.outbox o
JOIN onebell.runs r ON r.run_id = o.run_id
JOIN onebell.definitions d ON d.job_id = r.job_id AND d.version = r.version
WHERE o.key = ANY($1) AND o.step_id IS NOT NULL
