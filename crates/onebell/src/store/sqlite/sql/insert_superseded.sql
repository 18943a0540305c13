-- insert_superseded: a result that came too late
INSERT INTO onebell_superseded (step_id, attempt, run_id, replica, at, verdict)
VALUES (:step, :attempt, :run, :replica, :now, :verdict)
ON CONFLICT DO NOTHING
