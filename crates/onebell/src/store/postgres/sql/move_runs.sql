-- move_runs: run queued → running (admit); run running → succeeded (succeed); run running, undoing → parked (park); run running, parked → failing (fail); run queued, running, parked → cancelling (cancel); run failing, cancelling → undoing (undo); run undoing → failed (end-failed); run undoing → cancelled (end-cancelled); run parked → queued (requeue); run parked → undoing (resume-undo); run failed → queued (retry)
UPDATE onebell.runs r
SET status = m.status, goal = m.goal, reason = m.reason,
    started_at = CASE WHEN m.status = 'running' THEN coalesce(r.started_at, $1) ELSE r.started_at END,
    finished_at = CASE WHEN m.status IN ('succeeded', 'failed', 'cancelled') THEN $1 END,
    finish_by = CASE WHEN m.status IN ('succeeded', 'failed', 'cancelled') THEN NULL ELSE r.finish_by END,
    changed_at = $1
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS m (run_id, was, status, goal, reason)
WHERE r.run_id = m.run_id AND r.status = m.was
