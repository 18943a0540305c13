-- insert_batch: a new reading of a source, claimed by who opens it
INSERT INTO onebell_batches (batch_id, series, generation, scope, source, identity, settings, status, attempt, locked_by, step_id,
    atomic, complete_by, timeout_us, created_at, changed_at)
VALUES (:batch, :series, :generation, :scope, :source, :identity, :settings, 'running', 1, :reader, :step, :atomic, :now + :timeout, :timeout, :now,
    :now)
