-- prune_callbacks: what came back for runs that go
DELETE FROM onebell.callbacks WHERE run_id = ANY($1)
