-- read_slot_run: which of these slots were opened before
SELECT scheduled_for FROM onebell.runs WHERE job_id = $1 AND scheduled_for = ANY($2)
