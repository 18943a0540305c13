-- read_definition: the definitions that runs were opened with
SELECT r.run_id, d.definition::text AS definition
FROM onebell.runs r
JOIN onebell.definitions d ON d.job_id = r.job_id AND d.version = r.version
WHERE r.run_id = ANY($1)
