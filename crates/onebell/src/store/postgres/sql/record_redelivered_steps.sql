-- record_redelivered_steps: the history of steps whose messages go out again: only after such an attempt they are closed
INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, ended_at, outcome, summary)
SELECT step_id, attempt, run_id, job_id, name, rank, undoable, after, tries, $1, 'delivering',
    'its run is retried: messages of it go out again'
FROM onebell.job_steps
WHERE run_id = $2 AND status = 'delivering'
