-- move_runs: run queued → running (admit); run running → succeeded (succeed); run running, undoing → parked (park); run running, parked → failing (fail); run queued, running, parked → cancelling (cancel); run failing, cancelling → undoing (undo); run undoing → failed (end-failed); run undoing → cancelled (end-cancelled); run parked → queued (requeue); run parked → undoing (resume-undo); run failed → queued (retry)
UPDATE onebell_runs
SET status = :to, goal = :goal, reason = :reason, changed_at = :now,
    started_at = CASE WHEN :to = 'running' THEN coalesce(started_at, :now) ELSE started_at END,
    finished_at = CASE WHEN :over THEN :now END,
    finish_by = CASE WHEN :over THEN NULL ELSE finish_by END
WHERE run_id = :run AND status = :from
