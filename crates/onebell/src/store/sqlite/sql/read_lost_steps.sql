-- read_lost_steps: what a replica had claimed
SELECT step_id, run_id, job_id, name, rank, undoable, after, status, attempt, tries, retry, on_lost, on_message_failed,
       first_claimed_at, locked_by, claimed_at, started_at, complete_by
FROM onebell_job_steps
WHERE locked_by = :replica
ORDER BY step_id
