-- prune_superseded: late results of runs that go
DELETE FROM onebell_superseded WHERE run_id IN (SELECT value FROM json_each(:runs))
