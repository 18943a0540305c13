-- insert_definition: keeps a version for the runs that are opened with it
INSERT INTO onebell.definitions (job_id, version, hash, definition) VALUES ($1, $2, $3, $4::jsonb)
