-- insert_definition: a version that runs may keep
INSERT INTO onebell_definitions (job_id, version, hash, definition) VALUES (:job, :version, :hash, :definition)
