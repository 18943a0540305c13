-- adopt_messages: a message on its way, whose run is gone, belongs to who put it again
UPDATE onebell_outbox
SET run_gone = 0, job_id = :job, run_id = :run, step_id = :step, changed_at = :now
WHERE key = :key AND status = 'claimed' AND run_gone = 1
