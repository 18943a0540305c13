-- show_attempts: the history of a run's steps
SELECT step_id, attempt, replica, claimed_at, started_at, ended_at, outcome, error, summary, stdout, stderr
FROM onebell_attempts WHERE run_id = :run
ORDER BY step_id, attempt
