-- read_slot_run: whether a slot has a run
SELECT 1 FROM onebell_runs WHERE job_id = :job AND scheduled_for = :slot
