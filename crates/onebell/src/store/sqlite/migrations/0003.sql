-- Vigils: what is kept of a job of which somebody wants to know whether it succeeds.

-- A row once a definition asks for anything that a success decides; it stays, for runs keep the definition they were opened with.
CREATE TABLE onebell_vigils (
    job_id       TEXT PRIMARY KEY,
    within_us    INTEGER CHECK (within_us > 0),     -- a success is expected so long after the one before
    since        INTEGER NOT NULL,                  -- silence counts from here, or from the newest success
    succeeded_at INTEGER,                           -- the newest success
    expect_by    INTEGER,                           -- until the silence was told
    failures     INTEGER NOT NULL DEFAULT 0,        -- told since the newest success
    CONSTRAINT vigils_expected CHECK (expect_by IS NULL OR within_us IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_vigils_expected ON onebell_vigils (expect_by) WHERE expect_by IS NOT NULL;
