-- read_worked: how long the attempts of a run worked, all together
SELECT coalesce(sum(max(ended_at - coalesce(started_at, claimed_at), 0)), 0) AS worked_us FROM onebell_attempts WHERE run_id = :run
