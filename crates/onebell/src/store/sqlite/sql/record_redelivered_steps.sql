-- record_redelivered_steps: the history of steps whose messages go out again: only after such an attempt they are closed
INSERT INTO onebell_attempts (step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, ended_at, outcome, summary)
SELECT step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, :now, 'delivering',
       'its run is retried: messages of it go out again'
FROM onebell_job_steps
WHERE run_id = :run AND status = 'delivering'
