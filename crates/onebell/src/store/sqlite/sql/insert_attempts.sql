-- insert_attempts: one finished attempt into the history
INSERT INTO onebell_attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, replica,
    claimed_at, started_at, ended_at, outcome, error, summary, rows, stdout, stderr)
VALUES (:step, :attempt, :run, :job, :name, :final, :rank, :undoable, :after, :tries, :replica,
    :claimed_at, :started_at, :now, :outcome, :error, :summary, :rows, :stdout, :stderr)
