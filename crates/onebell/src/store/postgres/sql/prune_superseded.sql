-- prune_superseded: late results of runs that go
DELETE FROM onebell.superseded WHERE run_id = ANY($1)
