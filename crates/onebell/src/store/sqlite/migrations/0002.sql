-- Batches: which batch wrote an effect, and why the business refused it; the readings of sources; what they found.

ALTER TABLE onebell_effects ADD COLUMN batch_id TEXT;
ALTER TABLE onebell_effects ADD COLUMN failed TEXT;

CREATE TABLE onebell_batches (
    batch_id    TEXT PRIMARY KEY,
    series      TEXT NOT NULL,
    generation  INTEGER NOT NULL,
    scope       TEXT NOT NULL,
    source      TEXT NOT NULL,
    identity    TEXT NOT NULL,
    settings    TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'cancelled')),
    atomic      INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    locked_by   TEXT,
    step_id     TEXT,
    complete_by INTEGER,
    timeout_us  INTEGER NOT NULL,
    byte        INTEGER,
    line        INTEGER,
    prefix      TEXT,
    header      TEXT,
    applied     INTEGER NOT NULL DEFAULT 0,
    already     INTEGER NOT NULL DEFAULT 0,
    conflicts   INTEGER NOT NULL DEFAULT 0,
    rejected    INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (series, generation),
    CHECK ((status = 'running') = (locked_by IS NOT NULL AND complete_by IS NOT NULL)),
    CHECK ((byte IS NULL) = (line IS NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX onebell_batches_open ON onebell_batches (series) WHERE status IN ('pending', 'running');
CREATE INDEX onebell_batches_created ON onebell_batches (created_at);
CREATE INDEX onebell_batches_finished ON onebell_batches (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE onebell_rejections (
    batch_id    TEXT NOT NULL,
    byte        INTEGER NOT NULL,
    line        INTEGER NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('rejected', 'conflict', 'failed')),
    key         TEXT,
    reason      TEXT NOT NULL,
    record      BLOB NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (batch_id, byte)
) STRICT, WITHOUT ROWID;

-- Records of atomic batches until their end, in the order in which they become effects.
CREATE TABLE onebell_staged (
    batch_id    TEXT NOT NULL,
    key         TEXT NOT NULL,
    byte        INTEGER NOT NULL,
    line        INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    amount      INTEGER,
    payload     TEXT NOT NULL,
    failed      TEXT,
    PRIMARY KEY (batch_id, key, byte)
) STRICT, WITHOUT ROWID;
