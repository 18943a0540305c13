-- prune_attempts: the history of runs that go
DELETE FROM onebell.attempts WHERE run_id = ANY($1)
