-- prune_callbacks: what came back for runs that go
DELETE FROM onebell_callbacks WHERE run_id IN (SELECT value FROM json_each(:runs))
