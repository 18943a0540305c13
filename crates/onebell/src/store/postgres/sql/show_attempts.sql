-- show_attempts: the history of a run
SELECT step_id, attempt, replica, claimed_at, started_at, ended_at, outcome, error, summary,
    coalesce(stdout, '') AS stdout, coalesce(stderr, '') AS stderr
FROM onebell.attempts
WHERE run_id = $1
ORDER BY step_id, attempt
