-- keep_run_messages: messages on their way, whose run is retried, are not dropped when they come back
UPDATE onebell_outbox SET run_gone = 0, changed_at = :now WHERE run_id = :run AND run_gone = 1
