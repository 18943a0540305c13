-- insert_job: a job that is registered for the first time
INSERT INTO onebell_jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot)
VALUES (:job, :name, :definition, :version, :hash, :by, :now, :cursor, :next_slot)
ON CONFLICT DO NOTHING
