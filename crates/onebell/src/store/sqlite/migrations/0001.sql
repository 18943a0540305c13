-- Schema 1. Instants are microseconds since 1970, UTC. No foreign keys: ids are derived, rows of one run are written
-- and pruned together, and a key's lock would lie across the claim path.

CREATE TABLE onebell_jobs (
    job_id        TEXT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    definition    TEXT NOT NULL,
    version       INTEGER NOT NULL CHECK (version >= 1),
    hash          TEXT NOT NULL,
    registered_by TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    cursor        INTEGER NOT NULL,
    next_slot     INTEGER,
    pruned_before INTEGER,
    paused_at     INTEGER
) STRICT;
CREATE INDEX onebell_jobs_due ON onebell_jobs (next_slot) WHERE next_slot IS NOT NULL AND paused_at IS NULL;

-- Every version: a run keeps the one it was opened with.
CREATE TABLE onebell_definitions (
    job_id     TEXT NOT NULL,
    version    INTEGER NOT NULL,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (job_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE onebell_runs (
    run_id        TEXT PRIMARY KEY,
    job_id        TEXT NOT NULL,
    version       INTEGER NOT NULL,
    scheduled_for INTEGER,
    origin        TEXT NOT NULL CHECK (origin IN ('slot', 'request', 'catch_up', 'backfill')),
    status        TEXT NOT NULL CHECK (status IN ('queued', 'running', 'parked', 'failing', 'cancelling', 'undoing',
                                                  'succeeded', 'failed', 'cancelled')),
    goal          TEXT CHECK (goal IN ('failed', 'cancelled')),
    reason        TEXT,
    input         TEXT,
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    finished_at   INTEGER,
    finish_by     INTEGER,                          -- until it is over or its lateness was told
    changed_at    INTEGER NOT NULL,
    CONSTRAINT runs_one_per_slot UNIQUE (job_id, scheduled_for),
    CONSTRAINT runs_finished CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
    CONSTRAINT runs_goal CHECK (goal IS NOT NULL OR status NOT IN ('failing', 'cancelling', 'undoing', 'failed', 'cancelled')),
    CONSTRAINT runs_slot CHECK ((scheduled_for IS NULL) = (origin = 'request'))
) STRICT;
CREATE INDEX onebell_runs_open ON onebell_runs (job_id, status) WHERE finished_at IS NULL;
CREATE INDEX onebell_runs_finished ON onebell_runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX onebell_runs_created ON onebell_runs (created_at);
CREATE INDEX onebell_runs_finish_by ON onebell_runs (finish_by) WHERE finish_by IS NOT NULL;

CREATE TABLE onebell_request_keys (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    job_id      TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_request_keys_created ON onebell_request_keys (created_at);

-- What is not done. Succeeded and cancelled steps live in onebell_attempts.
CREATE TABLE onebell_job_steps (
    step_id          TEXT PRIMARY KEY,
    run_id           TEXT NOT NULL,
    job_id           TEXT NOT NULL,
    name             TEXT NOT NULL,
    rank             INTEGER NOT NULL,
    handler          TEXT NOT NULL,
    spec             TEXT NOT NULL,
    after            TEXT NOT NULL,               -- JSON array of names
    undoable         INTEGER NOT NULL,
    queue            TEXT NOT NULL,
    priority         INTEGER NOT NULL,
    timeout_us       INTEGER NOT NULL CHECK (timeout_us > 0),
    hard_limit_us    INTEGER NOT NULL,
    retry            TEXT NOT NULL,               -- JSON of the policy
    on_lost          TEXT NOT NULL,
    on_message_failed TEXT NOT NULL,
    status           TEXT NOT NULL CHECK (status IN ('waiting', 'pending', 'running', 'delivering', 'failed', 'exhausted', 'held')),
    ready_at         INTEGER NOT NULL,
    attempt          INTEGER NOT NULL DEFAULT 0,  -- only grows: the fence
    tries            INTEGER NOT NULL DEFAULT 0,  -- what is spent of the budget
    alone            INTEGER NOT NULL DEFAULT 0,
    uncarried        INTEGER NOT NULL DEFAULT 0,  -- held because no live replica carries it
    first_claimed_at INTEGER,                     -- under the present budget
    locked_by        TEXT,
    claimed_at       INTEGER,
    started_at       INTEGER,
    complete_by      INTEGER,
    hard_complete_by INTEGER,
    error            TEXT,
    changed_at       INTEGER NOT NULL,
    CONSTRAINT job_steps_owner CHECK ((status = 'running') = (locked_by IS NOT NULL)
        AND (status = 'running') = (complete_by IS NOT NULL)
        AND (status = 'running') = (claimed_at IS NOT NULL)
        AND (status = 'running') = (hard_complete_by IS NOT NULL)
        AND (status = 'running' OR started_at IS NULL)),
    CONSTRAINT job_steps_uncarried CHECK (uncarried = 0 OR status = 'held'),
    CONSTRAINT job_steps_tries CHECK (tries >= 0 AND attempt >= tries)
) STRICT;
CREATE INDEX onebell_job_steps_claim ON onebell_job_steps (priority DESC, ready_at, step_id) WHERE status = 'pending';
CREATE INDEX onebell_job_steps_alone ON onebell_job_steps (ready_at) WHERE status = 'pending' AND alone = 1;
CREATE INDEX onebell_job_steps_overdue ON onebell_job_steps (complete_by) WHERE complete_by IS NOT NULL;
CREATE INDEX onebell_job_steps_owner ON onebell_job_steps (locked_by) WHERE locked_by IS NOT NULL;
CREATE INDEX onebell_job_steps_run ON onebell_job_steps (run_id);
CREATE INDEX onebell_job_steps_delivering ON onebell_job_steps (changed_at) WHERE status IN ('delivering', 'held');

-- One row per finished attempt. `final` marks the one that holds a done step: succeeded or cancelled.
CREATE TABLE onebell_attempts (
    step_id    TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    run_id     TEXT NOT NULL,
    job_id     TEXT NOT NULL,
    name       TEXT NOT NULL,
    final      TEXT CHECK (final IN ('succeeded', 'cancelled')),
    rank       INTEGER NOT NULL,
    undoable   INTEGER NOT NULL,
    after      TEXT NOT NULL,
    tries      INTEGER NOT NULL,
    replica    TEXT,
    claimed_at INTEGER,
    started_at INTEGER,
    ended_at   INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    error      TEXT,
    summary    TEXT NOT NULL DEFAULT '',
    rows       TEXT,                              -- what for_each reads, whole
    stdout     BLOB,
    stderr     BLOB,
    PRIMARY KEY (step_id, attempt)
) STRICT;
CREATE INDEX onebell_attempts_run ON onebell_attempts (run_id);

-- Results that came too late. They changed nothing.
CREATE TABLE onebell_superseded (
    step_id  TEXT NOT NULL,
    attempt  INTEGER NOT NULL,
    run_id   TEXT NOT NULL,
    replica  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    verdict  TEXT NOT NULL,
    PRIMARY KEY (step_id, attempt, replica)
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_superseded_run ON onebell_superseded (run_id);

CREATE TABLE onebell_recovery_requests (
    kind         TEXT NOT NULL CHECK (kind IN ('replica', 'step', 'message', 'run')),
    id           TEXT NOT NULL,
    attempt      INTEGER NOT NULL,
    requested_by TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'granted')),
    granted_at   INTEGER,
    PRIMARY KEY (kind, id, attempt),
    CONSTRAINT recovery_requests_granted CHECK ((status = 'granted') = (granted_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_recovery_requests_open ON onebell_recovery_requests (requested_at) WHERE status = 'open';

CREATE TABLE onebell_effects (
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    amount      INTEGER,
    payload     TEXT NOT NULL,
    step_id     TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE onebell_outbox (
    key              TEXT PRIMARY KEY,
    fingerprint      TEXT NOT NULL,
    channel          TEXT NOT NULL,
    payload          TEXT NOT NULL,
    on_in_doubt      TEXT NOT NULL CHECK (on_in_doubt IN ('hold', 'resend')),
    retry            TEXT NOT NULL,
    job_id           TEXT,
    run_id           TEXT,
    step_id          TEXT,
    status           TEXT NOT NULL CHECK (status IN ('ready', 'claimed', 'sending', 'sent', 'failed', 'in_doubt', 'dropped')),
    ready_at         INTEGER NOT NULL,
    attempt          INTEGER NOT NULL DEFAULT 0,
    tries            INTEGER NOT NULL DEFAULT 0,
    first_claimed_at INTEGER,
    locked_by        TEXT,
    claimed_at       INTEGER,
    complete_by      INTEGER,
    sending_at       INTEGER,                     -- of the last attempt that got so far; kept
    resent           INTEGER NOT NULL DEFAULT 0,  -- claimed again after it was in sending: at least once
    run_gone         INTEGER NOT NULL DEFAULT 0,  -- its run failed or was cancelled before it ever was in sending
    settled_by       TEXT,                        -- who ended the present attempt, for read-back
    finished_at      INTEGER,
    dropped_by       TEXT CHECK (dropped_by IN ('run', 'person')),
    note             TEXT,
    created_at       INTEGER NOT NULL,
    changed_at       INTEGER NOT NULL,
    CONSTRAINT outbox_owner CHECK ((status IN ('claimed', 'sending')) = (locked_by IS NOT NULL)
        AND (status IN ('claimed', 'sending')) = (complete_by IS NOT NULL)),
    CONSTRAINT outbox_sending CHECK (status <> 'sending' OR sending_at IS NOT NULL),
    CONSTRAINT outbox_dropped CHECK ((status = 'dropped') = (dropped_by IS NOT NULL))
) STRICT;
CREATE INDEX onebell_outbox_claim ON onebell_outbox (ready_at, key) WHERE status = 'ready';
CREATE INDEX onebell_outbox_overdue ON onebell_outbox (complete_by) WHERE complete_by IS NOT NULL;
CREATE INDEX onebell_outbox_owner ON onebell_outbox (locked_by) WHERE locked_by IS NOT NULL;
CREATE INDEX onebell_outbox_step ON onebell_outbox (step_id, status) WHERE step_id IS NOT NULL;
CREATE INDEX onebell_outbox_run ON onebell_outbox (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX onebell_outbox_finished ON onebell_outbox (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX onebell_outbox_in_doubt ON onebell_outbox (changed_at) WHERE status IN ('in_doubt', 'failed');

CREATE TABLE onebell_terms (
    duty       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE onebell_replicas (
    replica_id           TEXT PRIMARY KEY,
    label                TEXT NOT NULL,
    version              TEXT NOT NULL,
    tzdata               TEXT NOT NULL,
    jobs                 TEXT NOT NULL,           -- JSON object: job id → hash of the definition carried
    handlers             TEXT NOT NULL,           -- JSON array
    queues               TEXT NOT NULL,           -- JSON array
    channels             TEXT NOT NULL,           -- JSON array
    lease_us             INTEGER NOT NULL CHECK (lease_us > 0),
    beat                 INTEGER NOT NULL,
    beat_at              INTEGER NOT NULL,
    started_at           INTEGER NOT NULL,
    lost_at              INTEGER,
    left_at              INTEGER,
    prevented_slots      INTEGER NOT NULL DEFAULT 0,
    prevented_effects    INTEGER NOT NULL DEFAULT 0,
    prevented_messages   INTEGER NOT NULL DEFAULT 0,
    prevented_superseded INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What replicas that were pruned since had prevented; one row.
CREATE TABLE onebell_prevented_before (
    slots      INTEGER NOT NULL,
    effects    INTEGER NOT NULL,
    messages   INTEGER NOT NULL,
    superseded INTEGER NOT NULL
) STRICT;
INSERT INTO onebell_prevented_before VALUES (0, 0, 0, 0);

-- The newest instant at which anybody renewed; one row. Here the store's clock is the host's, and may be set back.
CREATE TABLE onebell_clock (newest INTEGER NOT NULL) STRICT;
INSERT INTO onebell_clock VALUES (0);

CREATE TABLE onebell_skips (
    job_id      TEXT NOT NULL,
    from_slot   INTEGER NOT NULL,
    to_slot     INTEGER NOT NULL,
    count       INTEGER,
    reason      TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, from_slot, reason)
) STRICT, WITHOUT ROWID;
CREATE INDEX onebell_skips_recorded ON onebell_skips (recorded_at);

CREATE TABLE onebell_audit_log (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    reason TEXT,
    detail TEXT
) STRICT;

CREATE TABLE onebell_schema (version INTEGER NOT NULL, migrated_at INTEGER NOT NULL) STRICT;
