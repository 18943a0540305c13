-- Vigils: what is kept of a job of which somebody wants to know whether it succeeds.

-- A row once a definition asks for anything that a success decides; it stays, for runs keep the definition they were opened with.
CREATE TABLE onebell.vigils (
    job_id       text COLLATE "C" PRIMARY KEY,
    within_us    bigint CHECK (within_us > 0),      -- a success is expected so long after the one before
    since        timestamptz NOT NULL,              -- silence counts from here, or from the newest success
    succeeded_at timestamptz,                       -- the newest success
    expect_by    timestamptz,                       -- until the silence was told
    failures     bigint NOT NULL DEFAULT 0,         -- told since the newest success
    CONSTRAINT vigils_expected CHECK (expect_by IS NULL OR within_us IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
CREATE INDEX vigils_expected ON onebell.vigils (expect_by) WHERE expect_by IS NOT NULL;
