-- insert_runs: a run, as it begins
INSERT INTO onebell_runs (run_id, job_id, version, scheduled_for, origin, status, input, finish_by, created_at, changed_at)
VALUES (:run, :job, :version, :scheduled_for, :origin, 'queued', :input, :finish_by, :now, :now)
ON CONFLICT DO NOTHING
