-- insert_steps: steps of opened runs, undo steps, and steps taken back from the history
INSERT INTO onebell.job_steps (step_id, run_id, job_id, name, rank, handler, spec, after, undoable, queue, priority,
    timeout_us, hard_limit_us, retry, on_lost, on_message_failed, status, attempt, ready_at, changed_at)
SELECT step_id, run_id, job_id, name, rank, handler, spec, after::jsonb, undoable, queue, priority,
    timeout_us, hard_limit_us, retry::jsonb, on_lost, on_message_failed, status, attempt, $1, $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::boolean[],
    $11::text[], $12::integer[], $13::bigint[], $14::bigint[], $15::text[], $16::text[], $17::text[], $18::text[], $19::bigint[])
    AS s (step_id, run_id, job_id, name, rank, handler, spec, after, undoable, queue, priority, timeout_us, hard_limit_us, retry,
          on_lost, on_message_failed, status, attempt)
