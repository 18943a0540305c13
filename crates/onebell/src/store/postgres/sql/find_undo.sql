-- find_undo: whether an undo of the run ever began
SELECT EXISTS (SELECT FROM onebell.job_steps WHERE run_id = $1 AND name LIKE '%~undo')
    OR EXISTS (SELECT FROM onebell.attempts WHERE run_id = $1 AND name LIKE '%~undo') AS began
