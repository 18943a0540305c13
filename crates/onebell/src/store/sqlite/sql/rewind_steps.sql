-- rewind_steps: what waits waits as long as it would have, and claims end when they would have
UPDATE onebell_job_steps
SET ready_at = CASE WHEN ready_at > :now THEN max(:now, ready_at - :span_us) ELSE ready_at END,
    complete_by = CASE WHEN complete_by > :newest THEN complete_by - :span_us ELSE complete_by END,
    hard_complete_by = CASE WHEN complete_by > :newest THEN hard_complete_by - :span_us ELSE hard_complete_by END
WHERE ready_at > :now OR complete_by > :newest
