-- insert_steps: a step, as it begins
INSERT INTO onebell_job_steps (step_id, run_id, job_id, name, rank, handler, spec, after, undoable, queue, priority, timeout_us,
    hard_limit_us, retry, on_lost, on_message_failed, status, ready_at, attempt, changed_at)
VALUES (:step, :run, :job, :name, :rank, :handler, :spec, :after, :undoable, :queue, :priority, :timeout_us,
    :hard_limit_us, :retry, :on_lost, :on_message_failed, :status, :now, :attempt, :now)
