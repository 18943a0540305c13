-- insert_job: a job that is registered for the first time
INSERT INTO onebell_jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot, paused_at)
VALUES (:job, :name, :definition, :version, :hash, :by, :now, :cursor, :next_slot, iif(:paused, :now, NULL))
ON CONFLICT DO NOTHING
