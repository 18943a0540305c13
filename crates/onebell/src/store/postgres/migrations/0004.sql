-- Callbacks: what came back later than its request.

-- By the id that the caller gave it. It stays until its run is pruned, so that it is known when it comes again.
CREATE TABLE onebell.callbacks (
    step_id     text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    body        text NOT NULL,
    received_at timestamptz NOT NULL,
    taken_by    bigint,                           -- the attempt that goes by it
    PRIMARY KEY (step_id, id)
);
CREATE INDEX callbacks_run ON onebell.callbacks (run_id);
