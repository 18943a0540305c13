-- read_abandoned_steps: running steps of a run whose replica was not heard of within its lease
SELECT step_id, run_id, job_id, name, rank, undoable, after, status, attempt, tries, retry, on_lost, on_message_failed,
       first_claimed_at, locked_by, claimed_at, started_at, complete_by
FROM onebell_job_steps AS s
WHERE s.run_id = :run AND s.status = 'running'
  AND NOT EXISTS (SELECT 1 FROM onebell_replicas AS r
                  WHERE r.replica_id = s.locked_by AND r.lost_at IS NULL AND r.left_at IS NULL AND r.beat_at + r.lease_us > :now)
ORDER BY step_id
