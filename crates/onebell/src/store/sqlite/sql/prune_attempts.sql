-- prune_attempts: the history of runs that go
DELETE FROM onebell_attempts WHERE run_id IN (SELECT value FROM json_each(:runs))
