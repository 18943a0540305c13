-- Schema 1. The same tables, columns and constraint names as SQLite's. No foreign keys: ids are derived, rows of one
-- run are written and pruned together, and a key's lock would lie across the claim path. Built-in types only: an enum
-- makes a driver prepare a named statement, which breaks behind a transaction pooler. Keys compare by their bytes.

CREATE TABLE onebell.jobs (
    job_id        text COLLATE "C" PRIMARY KEY,
    name          text COLLATE "C" NOT NULL UNIQUE,
    definition    jsonb NOT NULL,
    version       bigint NOT NULL CHECK (version >= 1),
    hash          text NOT NULL,
    registered_by text NOT NULL,
    registered_at timestamptz NOT NULL,
    cursor        timestamptz NOT NULL,
    next_slot     timestamptz,
    pruned_before timestamptz,
    paused_at     timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX jobs_due ON onebell.jobs (next_slot) WHERE next_slot IS NOT NULL AND paused_at IS NULL;

-- Every version: a run keeps the one it was opened with.
CREATE TABLE onebell.definitions (
    job_id     text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    hash       text NOT NULL,
    definition jsonb NOT NULL,
    PRIMARY KEY (job_id, version)
);

CREATE TABLE onebell.runs (
    run_id        text COLLATE "C" PRIMARY KEY,
    job_id        text COLLATE "C" NOT NULL,
    version       bigint NOT NULL,
    scheduled_for timestamptz,
    origin        text NOT NULL CHECK (origin IN ('slot', 'request', 'catch_up', 'backfill')),
    status        text NOT NULL CHECK (status IN ('queued', 'running', 'parked', 'failing', 'cancelling', 'undoing',
                                                  'succeeded', 'failed', 'cancelled')),
    goal          text CHECK (goal IN ('failed', 'cancelled')),
    reason        text,
    input         text,
    created_at    timestamptz NOT NULL,
    started_at    timestamptz,
    finished_at   timestamptz,
    finish_by     timestamptz,                      -- until it is over or its lateness was told
    changed_at    timestamptz NOT NULL,
    CONSTRAINT runs_one_per_slot UNIQUE (job_id, scheduled_for),
    CONSTRAINT runs_finished CHECK ((finished_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'cancelled'))),
    CONSTRAINT runs_goal CHECK (goal IS NOT NULL OR status NOT IN ('failing', 'cancelling', 'undoing', 'failed', 'cancelled')),
    CONSTRAINT runs_slot CHECK ((scheduled_for IS NULL) = (origin = 'request'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX runs_open ON onebell.runs (job_id, status) WHERE finished_at IS NULL;
CREATE INDEX runs_finished ON onebell.runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_created ON onebell.runs (created_at);
CREATE INDEX runs_finish_by ON onebell.runs (finish_by) WHERE finish_by IS NOT NULL;

CREATE TABLE onebell.request_keys (
    key         text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    job_id      text COLLATE "C" NOT NULL,
    run_id      text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX request_keys_created ON onebell.request_keys (created_at);

-- What is not done. Succeeded and cancelled steps live in onebell.attempts.
CREATE TABLE onebell.job_steps (
    step_id          text COLLATE "C" PRIMARY KEY,
    run_id           text COLLATE "C" NOT NULL,
    job_id           text COLLATE "C" NOT NULL,
    name             text COLLATE "C" NOT NULL,
    rank             integer NOT NULL,
    handler          text COLLATE "C" NOT NULL,
    spec             text NOT NULL,
    after            jsonb NOT NULL,              -- array of names
    undoable         boolean NOT NULL,
    queue            text COLLATE "C" NOT NULL,
    priority         integer NOT NULL,
    timeout_us       bigint NOT NULL CHECK (timeout_us > 0),
    hard_limit_us    bigint NOT NULL,
    retry            jsonb NOT NULL,
    on_lost          text NOT NULL,
    on_message_failed text NOT NULL,
    status           text NOT NULL CHECK (status IN ('waiting', 'pending', 'running', 'delivering', 'failed', 'exhausted', 'held')),
    ready_at         timestamptz NOT NULL,
    attempt          bigint NOT NULL DEFAULT 0,   -- only grows: the fence
    tries            bigint NOT NULL DEFAULT 0,   -- what is spent of the budget
    alone            boolean NOT NULL DEFAULT false,
    uncarried        boolean NOT NULL DEFAULT false, -- held because no live replica carries it
    first_claimed_at timestamptz,                 -- under the present budget
    locked_by        text COLLATE "C",
    claimed_at       timestamptz,
    started_at       timestamptz,
    complete_by      timestamptz,
    hard_complete_by timestamptz,
    error            text,
    changed_at       timestamptz NOT NULL,
    CONSTRAINT job_steps_owner CHECK ((status = 'running') = (locked_by IS NOT NULL)
        AND (status = 'running') = (complete_by IS NOT NULL)
        AND (status = 'running') = (claimed_at IS NOT NULL)
        AND (status = 'running') = (hard_complete_by IS NOT NULL)
        AND (status = 'running' OR started_at IS NULL)),
    CONSTRAINT job_steps_uncarried CHECK (NOT uncarried OR status = 'held'),
    CONSTRAINT job_steps_tries CHECK (tries >= 0 AND attempt >= tries)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_steps_claim ON onebell.job_steps (priority DESC, ready_at, step_id) WHERE status = 'pending';
CREATE INDEX job_steps_alone ON onebell.job_steps (ready_at) WHERE status = 'pending' AND alone;
-- The predicates of the next two must not follow from the fence (attempt, locked_by, status): the planner would leave
-- the primary key for them, and finishing a step would cost several times as much.
CREATE INDEX job_steps_overdue ON onebell.job_steps (complete_by) WHERE complete_by IS NOT NULL;
CREATE INDEX job_steps_owner ON onebell.job_steps (locked_by) WHERE complete_by IS NOT NULL;
CREATE INDEX job_steps_run ON onebell.job_steps (run_id);
CREATE INDEX job_steps_delivering ON onebell.job_steps (changed_at) WHERE status IN ('delivering', 'held');

-- One row per finished attempt. `final` marks the one that holds a done step: succeeded or cancelled.
CREATE TABLE onebell.attempts (
    step_id    text COLLATE "C" NOT NULL,
    attempt    bigint NOT NULL,
    run_id     text COLLATE "C" NOT NULL,
    job_id     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    final      text CHECK (final IN ('succeeded', 'cancelled')),
    rank       integer NOT NULL,
    undoable   boolean NOT NULL,
    after      jsonb NOT NULL,
    tries      bigint NOT NULL,
    replica    text COLLATE "C",
    claimed_at timestamptz,
    started_at timestamptz,
    ended_at   timestamptz NOT NULL,
    outcome    text NOT NULL,
    error      text,
    summary    text NOT NULL DEFAULT '',
    rows       text,                              -- what for_each reads, whole
    stdout     bytea,
    stderr     bytea,
    PRIMARY KEY (step_id, attempt)
) WITH (autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX attempts_run ON onebell.attempts (run_id);

-- Results that came too late. They changed nothing.
CREATE TABLE onebell.superseded (
    step_id  text COLLATE "C" NOT NULL,
    attempt  bigint NOT NULL,
    run_id   text COLLATE "C" NOT NULL,
    replica  text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL,
    verdict  text NOT NULL,
    PRIMARY KEY (step_id, attempt, replica)
);
CREATE INDEX superseded_run ON onebell.superseded (run_id);

CREATE TABLE onebell.recovery_requests (
    kind         text NOT NULL CHECK (kind IN ('replica', 'step', 'message', 'run')),
    id           text COLLATE "C" NOT NULL,
    attempt      bigint NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL,
    reason       text NOT NULL,
    status       text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'granted')),
    granted_at   timestamptz,
    PRIMARY KEY (kind, id, attempt),
    CONSTRAINT recovery_requests_granted CHECK ((status = 'granted') = (granted_at IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX recovery_requests_open ON onebell.recovery_requests (requested_at) WHERE status = 'open';

CREATE TABLE onebell.effects (
    scope       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    amount      bigint,
    payload     text NOT NULL,
    step_id     text COLLATE "C",
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE TABLE onebell.outbox (
    key              text COLLATE "C" PRIMARY KEY,
    fingerprint      text NOT NULL,
    channel          text COLLATE "C" NOT NULL,
    payload          text NOT NULL,
    on_in_doubt      text NOT NULL CHECK (on_in_doubt IN ('hold', 'resend')),
    retry            jsonb NOT NULL,
    job_id           text COLLATE "C",
    run_id           text COLLATE "C",
    step_id          text COLLATE "C",
    status           text NOT NULL CHECK (status IN ('ready', 'claimed', 'sending', 'sent', 'failed', 'in_doubt', 'dropped')),
    ready_at         timestamptz NOT NULL,
    attempt          bigint NOT NULL DEFAULT 0,
    tries            bigint NOT NULL DEFAULT 0,
    first_claimed_at timestamptz,
    locked_by        text COLLATE "C",
    claimed_at       timestamptz,
    complete_by      timestamptz,
    sending_at       timestamptz,                 -- of the last attempt that got so far; kept
    resent           boolean NOT NULL DEFAULT false, -- claimed again after it was in sending: at least once
    run_gone         boolean NOT NULL DEFAULT false, -- its run failed or was cancelled before it ever was in sending
    settled_by       text COLLATE "C",            -- who ended the present attempt, for read-back
    finished_at      timestamptz,
    dropped_by       text CHECK (dropped_by IN ('run', 'person')),
    note             text,
    created_at       timestamptz NOT NULL,
    changed_at       timestamptz NOT NULL,
    CONSTRAINT outbox_owner CHECK ((status IN ('claimed', 'sending')) = (locked_by IS NOT NULL)
        AND (status IN ('claimed', 'sending')) = (complete_by IS NOT NULL)),
    CONSTRAINT outbox_sending CHECK (status <> 'sending' OR sending_at IS NOT NULL),
    CONSTRAINT outbox_dropped CHECK ((status = 'dropped') = (dropped_by IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_claim ON onebell.outbox (ready_at, key) WHERE status = 'ready';
CREATE INDEX outbox_overdue ON onebell.outbox (complete_by) WHERE complete_by IS NOT NULL;
CREATE INDEX outbox_owner ON onebell.outbox (locked_by) WHERE complete_by IS NOT NULL;
CREATE INDEX outbox_step ON onebell.outbox (step_id) WHERE status IN ('ready', 'claimed', 'sending', 'failed', 'in_doubt');
CREATE INDEX outbox_run ON onebell.outbox (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX outbox_in_doubt ON onebell.outbox (changed_at) WHERE status IN ('in_doubt', 'failed');
CREATE INDEX outbox_finished ON onebell.outbox (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE onebell.terms (
    duty       text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C" NOT NULL,
    epoch      bigint NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE onebell.replicas (
    replica_id           text COLLATE "C" PRIMARY KEY,
    label                text NOT NULL,
    version              text NOT NULL,
    tzdata               text NOT NULL,
    jobs                 jsonb NOT NULL,          -- object: job id → hash of the definition carried
    handlers             jsonb NOT NULL,          -- array
    queues               jsonb NOT NULL,          -- array
    channels             jsonb NOT NULL,          -- array
    lease_us             bigint NOT NULL CHECK (lease_us > 0),
    beat                 bigint NOT NULL,
    beat_at              timestamptz NOT NULL,
    started_at           timestamptz NOT NULL,
    lost_at              timestamptz,
    left_at              timestamptz,
    prevented_slots      bigint NOT NULL DEFAULT 0,
    prevented_effects    bigint NOT NULL DEFAULT 0,
    prevented_messages   bigint NOT NULL DEFAULT 0,
    prevented_superseded bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- What replicas that were pruned since had prevented; one row.
CREATE TABLE onebell.prevented_before (
    slots      bigint NOT NULL,
    effects    bigint NOT NULL,
    messages   bigint NOT NULL,
    superseded bigint NOT NULL
);
INSERT INTO onebell.prevented_before VALUES (0, 0, 0, 0);

CREATE TABLE onebell.skips (
    job_id      text COLLATE "C" NOT NULL,
    from_slot   timestamptz NOT NULL,
    to_slot     timestamptz NOT NULL,
    count       bigint,
    reason      text NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, from_slot, reason)
);
CREATE INDEX skips_recorded ON onebell.skips (recorded_at);

CREATE TABLE onebell.audit_log (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL,
    actor  text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    reason text,
    detail text
);

CREATE TABLE onebell.schema (version bigint NOT NULL, migrated_at timestamptz NOT NULL);
