-- Callbacks: what came back later than its request.

-- By the id that the caller gave it. It stays until its run is pruned, so that it is known when it comes again.
CREATE TABLE onebell_callbacks (
    step_id     TEXT NOT NULL,
    id          TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body        TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    taken_by    INTEGER,                          -- the attempt that goes by it
    PRIMARY KEY (step_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_callbacks_run ON onebell_callbacks (run_id);
